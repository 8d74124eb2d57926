/**
 * Asks a store whether jobs may start, once for all that ask at the same time: reads the books of their keys, decides for each
 * job in turn, and writes what has changed, if nobody else has meanwhile. Otherwise it asks again.
 */
import { endOfTurn, timeOf, type Milliseconds, type Seconds } from '../base/clock';
import { Recent } from '../base/collections';
import { inRootContext, type Application, type OperationsConnection } from '../connections/application';
import { MOST_TRIES, stepAside } from './conflict';
import { keeperOf, LIMIT } from './deferral';
import { agreedBook, areSame, bookOf, bookText, decide, HORIZON, liveBook } from './rates';
import type { Asking, Book, Decision, WindowRate } from './rates';
import type { RunningJob } from '../worker/running-job';

/** The rates of one key. */
export interface Limit {
  readonly key: string;
  /** Of its record. */
  readonly id: string;
  /** By length of their windows. */
  readonly rates: readonly WindowRate[];
}

interface Ask extends Asking {
  readonly limits: readonly Limit[];
  /** The keys whose start it has got already, in a call in which another process took the last one of another key. */
  readonly paid: Set<string>;
  tries: number;
  readonly done: (wait: Milliseconds) => void;
  readonly failed: (error: unknown) => void;
}

/** The book of a key during one call. */
interface Page {
  readonly key: string;
  readonly id: string;
  readonly text: string | undefined;
  book: Book | undefined;
  isChanged: boolean;
  /** Another process has written it meanwhile. */
  isLost: boolean;
}

/** Most asks in one call. */
const MOST = 1000;
/** When a job comes back whose ask was repeated often enough. */
const COMES_BACK: Milliseconds = 250;
/** A start that took longer to write is later than it counts: after a stall of the store many would come at once. */
const LATE: Milliseconds = 1000;
/** Most keys whose rates are remembered. */
const MOST_KEYS = 10_000;

const askers = new WeakMap<OperationsConnection, RateAsker>();
/** What each copy of the package writes differs. */
let written = 0;

export class RateAsker {
  readonly #application: Application;
  readonly #keeper: OperationsConnection;
  readonly #nonce: string;
  /** The rates that this process gives to each key, and since when. */
  readonly #own = new Recent<string, Pick<Book, 'rates' | 'since'>>(MOST_KEYS);
  /** What was logged about each key. */
  readonly #told = new Recent<string, true>(MOST_KEYS);
  #waiting: Ask[] = [];
  #isBusy = false;

  /** The one for the limits of this job. @throws E_NO_RECORDS */
  static for(job: RunningJob): RateAsker {
    const keeper = keeperOf(job);
    const known = askers.get(keeper) ?? new RateAsker(job.application, keeper);
    askers.set(keeper, known);
    return known;
  }

  private constructor(application: Application, keeper: OperationsConnection) {
    this.#application = application;
    this.#keeper = keeper;
    this.#nonce = Math.floor(application.random() * 2 ** 48).toString(36);
  }

  /** How long it has to wait; 0: it may start, and counts. @throws what the store throws */
  ask(limits: readonly Limit[], asking: Asking): Promise<Milliseconds> {
    return new Promise((done, failed) => {
      this.#waiting.push({ limits, ...asking, paid: new Set(), tries: 0, done, failed });
      if (!this.#isBusy) void inRootContext(() => this.#work(), this.#application);
    });
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    await endOfTurn();
    while (this.#waiting.length > 0) {
      const asks = this.#waiting.splice(0, MOST);
      try {
        const isFirst = await this.#askFor(asks);
        if (!isFirst) await stepAside(this.#application);
      } catch (error) {
        for (const { failed } of asks) failed(error);
      }
    }
    this.#isBusy = false;
  }

  /** False if another process was first for some of them, which wait again. */
  async #askFor(asks: readonly Ask[]): Promise<boolean> {
    const { records } = this.#keeper;
    const { clock } = this.#application;
    const ids = new Map(asks.flatMap(({ limits }) => limits.map(({ key, id }) => [key, id])));
    const pages = new Map(
      await Promise.all(Array.from(ids, async ([key, id]) => [key, await this.#read(key, id)] as const)),
    );
    const now = await timeOf(this.#keeper, clock);
    for (const page of pages.values()) page.book &&= liveBook(page.book, now);
    const waits = asks.map((ask) => this.#decide(ask, pages, now));
    const begun = clock.monotonic();
    const write = async (page: Page): Promise<void> => {
      const { id, text, book } = page;
      written += 1;
      const value = bookText(book!, `${this.#nonce}.${written.toString(36)}`);
      page.isLost = !(await records.replace({ kind: LIMIT, id, value }, text, keptFor(book!)));
    };
    await Promise.all([...pages.values()].filter(({ isChanged }) => isChanged).map(write));
    const isLate = clock.monotonic() - begun > LATE;
    const again = asks.filter((ask, place) => !this.#tell(ask, waits[place]!, pages, isLate));
    this.#waiting.unshift(...again);
    return again.length === 0;
  }

  async #read(key: string, id: string): Promise<Page> {
    const text = await this.#keeper.records.get(LIMIT, id);
    const book = text === undefined ? undefined : bookOf(text);
    if (text !== undefined && book === undefined) this.#warn(key, 'cannot be read, and counts as empty');
    return { key, id, text, book, isChanged: false, isLost: false };
  }

  /** All keys let it start, or none is charged. */
  #decide(ask: Ask, pages: ReadonlyMap<string, Page>, now: Milliseconds): Milliseconds {
    const decisions = ask.limits
      .filter(({ key }) => !ask.paid.has(key))
      .map((limit): Decision & { readonly page: Page } => {
        const page = pages.get(limit.key)!;
        page.book = agreedBook(page.book, this.#ownOf(limit, page.book, now), now);
        return { page, ...decide(page.book, now, ask, this.#application.random) };
      });
    const wait = Math.max(0, ...decisions.map((one) => one.wait));
    for (const { page, book, wait: own } of decisions) {
      if ((wait > 0 && own === 0) || book === page.book) continue;
      page.book = book;
      page.isChanged = true;
    }
    return wait;
  }

  /** False if it has to be asked again. */
  #tell(ask: Ask, wait: Milliseconds, pages: ReadonlyMap<string, Page>, isLate: boolean): boolean {
    const own = ask.limits.map(({ key }) => pages.get(key)!).filter(({ key }) => !ask.paid.has(key));
    // A store that is always slow is asked twice, and then believed.
    const isTooLate = isLate && wait === 0 && ask.tries === 0;
    if (!isTooLate && !own.some((page) => page.isLost)) ask.done(wait);
    else if (ask.tries >= MOST_TRIES) ask.done(COMES_BACK);
    else {
      ask.tries += 1;
      if (wait === 0 && !isTooLate) for (const { key, isLost } of own) if (!isLost) ask.paid.add(key);
      return false;
    }
    return true;
  }

  /** The rates that this program gives to the key, as opposed to those that the store has. */
  #ownOf({ key, rates }: Limit, stored: Book | undefined, now: Milliseconds): Pick<Book, 'rates' | 'since'> {
    let own = this.#own.get(key);
    // Those of a process that was started before a deploy must not count because it had not used the key yet.
    const since = own === undefined ? now - this.#application.clock.monotonic() : now;
    if (own === undefined || !areSame(own.rates, rates)) this.#own.set(key, (own = { rates, since }));
    if (stored !== undefined && !areSame(stored.rates, rates)) {
      const texts = [stored.rates, rates].map((some) =>
        some.map(({ allow, every }) => `${allow} in ${every / 1000} s`),
      );
      this.#warn(key, `is given different rates: ${texts.join(' elsewhere, and ')} here. Those that came later count`);
    }
    return own;
  }

  #warn(key: string, problem: string): void {
    if (this.#told.has(key)) return;
    this.#told.set(key, true);
    this.#application.logger.warn({ key, connection: this.#keeper.name }, `The rate limit '${key}' ${problem}.`);
  }
}

const keptFor = ({ rates }: Book): Seconds => (Math.max(...rates.map(({ every }) => every)) + 2 * HORIZON) / 1000;

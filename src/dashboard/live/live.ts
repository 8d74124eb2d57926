/** Keeps open pages up to date: one look for all who watch the same one, and only what has changed is sent. */
import type { Clock, Milliseconds, Timer } from '../../base/clock';
import type { Viewer } from '../access/access';
import type { EventSink, EventSource } from '../http/answer';
import { region } from '../parts/regions';
import type { PageContext, View } from '../view';

/** Between two looks. */
const PAUSE: Milliseconds = 2000;
/** A store is asked for so small a part of the time: a round of looks of 100 ms is followed by a pause of 10 s. */
const SHARE = 100;
const LONGEST_PAUSE: Milliseconds = 30_000;
/** Then the browser asks again, and is let in again or not. */
const LONGEST_WATCH: Milliseconds = 300_000;
/** Pages that are watched at once; who comes later sees no changes. */
const MOST = 200;

interface Watcher {
  readonly sink: EventSink;
  readonly viewer: Viewer;
  readonly since: Milliseconds;
}

/** A page that somebody watches. */
interface Watched {
  readonly look: () => Promise<View>;
  readonly watchers: Set<Watcher>;
  /** What was sent of it last, by the ids of its parts. */
  sent: ReadonlyMap<string, string>;
  /** What was wrong with it last. */
  trouble: string | undefined;
}

export class Live {
  readonly #clock: Clock;
  readonly #pages = new Map<string, Watched>();
  #timer: Timer | undefined;
  #isLooking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch({ viewer, here }: PageContext, look: () => Promise<View>): EventSource {
    const key = `${viewer.role} ${here}`;
    return {
      open: (sink) => {
        if (!this.#pages.has(key) && this.#pages.size >= MOST) {
          sink.end();
          return () => undefined;
        }
        const page = this.#pages.get(key) ?? {
          look,
          watchers: new Set(),
          sent: new Map<string, string>(),
          trouble: undefined,
        };
        const watcher = { sink, viewer, since: this.#clock.monotonic() };
        page.watchers.add(watcher);
        // What changed between the page and this is sent with the first look.
        page.sent = new Map();
        this.#pages.set(key, page);
        this.#arm(PAUSE);
        return () => this.#leave(key, page, watcher);
      },
    };
  }

  close(): void {
    for (const { watchers } of this.#pages.values()) for (const { sink } of watchers) sink.end();
    this.#pages.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #leave(key: string, page: Watched, watcher: Watcher): void {
    page.watchers.delete(watcher);
    if (page.watchers.size === 0 && this.#pages.get(key) === page) this.#pages.delete(key);
    if (this.#pages.size > 0) return;
    // Nobody watches: the store is left alone.
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(pause: Milliseconds): void {
    if (this.#isLooking || this.#timer !== undefined) return;
    this.#timer = this.#clock.after(pause, () => {
      this.#timer = undefined;
      void this.#round();
    });
  }

  async #round(): Promise<void> {
    this.#isLooking = true;
    let took: Milliseconds = 0;
    let isAway = false;
    const beside: Promise<unknown>[] = [];
    for (const page of [...this.#pages.values()]) {
      // A store that does not answer is not waited for again with each page of it: other stores have pages, too.
      if (isAway || page.trouble !== undefined) beside.push(this.#update(page));
      else {
        took += await this.#update(page);
        isAway = page.trouble !== undefined;
      }
    }
    await Promise.all(beside);
    this.#isLooking = false;
    if (this.#pages.size > 0) this.#arm(Math.min(Math.max(PAUSE, took * SHARE), LONGEST_PAUSE));
  }

  /** How long the store took. */
  async #update(page: Watched): Promise<Milliseconds> {
    const began = this.#clock.monotonic();
    for (const { sink, since } of page.watchers) if (began - since > LONGEST_WATCH) sink.end();
    let view: View;
    try {
      view = await page.look();
    } catch {
      // The page itself says what is wrong when it is asked for again.
      for (const { sink } of page.watchers) sink.end();
      return 0;
    }
    const took = this.#clock.monotonic() - began;
    const wasAway = page.trouble !== undefined;
    const text = changeOf(page, view);
    // Who does not take it is sent all of it once they ask again.
    for (const { sink, viewer } of page.watchers) if (viewer.hasLeft?.() === true || !sink.send(text)) sink.end();
    // What a store that is away is asked costs it nothing, and neither does the wait until it is back.
    return view.trouble === undefined && !wasAway ? took : 0;
  }
}

/** As an event: what has changed since the last one. */
function changeOf(page: Watched, { title, parts, trouble }: View): string {
  // While the store is away, what was seen last stays.
  const isSame = trouble === page.trouble;
  page.trouble = trouble;
  if (trouble === undefined) {
    const markup = new Map(parts.map((part) => [part.id, region(part).text]));
    const changed = [...markup].filter(([id, shown]) => page.sent.get(id) !== shown).map(([, shown]) => shown);
    const isSamePage = changed.length === 0 && markup.size === page.sent.size;
    page.sent = markup;
    // A line that says nothing shows whether the viewer is still there.
    if (isSame && isSamePage) return ': nothing has changed\n\n';
    return eventOf({ title, ids: [...markup.keys()], markup: changed.join(''), trouble: '' });
  }
  return isSame ? ': nothing has changed\n\n' : eventOf({ trouble });
}

/** What the script of the page is told: to show a trouble, or all parts in order with the markup of those that have changed. */
type Change =
  | { readonly trouble: string }
  | {
      readonly trouble: '';
      readonly title: string;
      readonly ids: readonly string[];
      readonly markup: string;
    };

function eventOf(change: Change): string {
  return `data: ${JSON.stringify(change)}\n\n`;
}

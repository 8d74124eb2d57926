/**
 * Pushes to one queue. Dispatches that arrive while a call is under way travel together in the next call.
 *
 * If they fill calls, several calls are under way. Redis carries out such a call only if the call before it was the last one
 * carried out: a call that is refused or lost with its connection holds up those behind it, and a repeat needs only a number
 * to find out how far they came.
 */
import type { BatchEnd, NewBatch } from '../batch-store';
import type { Entry, Pushed } from '../contract';
import { batchEnded, DuplicatePayloadError } from '../errors';
import type { RedisCaller } from './caller';
import { entriesOf } from './entries';
import { type Joining, joiningOf } from './joining';
import type { Keys } from './keys';
import { fillsCall, Lane, type Waiting } from './lane';
import { afterMicrotasks } from '../../base/clock';
import { MOST_JOBS, pageBytes, pagesOf } from '../../base/pages';

/** Enough to keep Redis from ever waiting for the next call. */
export const PUSHES_AT_ONCE = 10;

type Answer = readonly [
  word: Buffer,
  /** After `ended`: how the batch ended. */
  duplicates?: readonly number[] | Buffer,
  found?: Buffer,
  /** Pairs: a place, and the id of the job that holds the key. */
  held?: readonly (number | Buffer)[],
  /** Pairs: a place, and the id of the job that was replaced. */
  replaced?: readonly (number | Buffer)[],
];

interface Push extends Waiting {
  readonly entries: readonly Entry[];
  /** The batch that the entries join. */
  readonly joining: Joining | undefined;
  /** @param pushed undefined: all were queued */
  resolve(pushed?: readonly Pushed[]): void;
}

export class PushLane extends Lane<Push> {
  readonly #queue: string;
  readonly #names: Keys;
  readonly #keys: readonly string[];
  readonly #onForgotten: () => void;
  /** The last call sent may refuse a duplicate. Its answer must be known: the record of a later call would hide it. */
  #mayRefuse = false;
  /** The batch of the last call sent, if its end is all that can refuse that call. */
  #batch: string | undefined;

  /** @param onForgotten called when Redis turns out to have lost data that it had confirmed */
  constructor(caller: RedisCaller, queue: string, keys: Keys, onForgotten: () => void) {
    super(caller);
    this.#queue = queue;
    this.#names = keys;
    const { client, ready, delayed, notify, unique } = keys.queue(queue);
    this.#keys = [client(this.id), ready, delayed, notify, unique];
    this.#onForgotten = onForgotten;
  }

  /**
   * Sends longer lists in several calls, one after another: if one fails, the following ones are not sent. Undefined: all
   * were queued.
   */
  async push(entries: readonly Entry[], begins?: NewBatch): Promise<readonly Pushed[] | undefined> {
    const joining = joiningOf(this.#names, this.#queue, entries, begins);
    if (entries.length === 1 || joining !== undefined) return this.#pushPage(entries, joining);
    const pages: (readonly Pushed[] | undefined)[] = [];
    const lengths: number[] = [];
    for (const page of pagesOf(entries, bytesOf)) {
      lengths.push(page.length);
      pages.push(await this.#pushPage(page));
    }
    if (pages.every((page) => page === undefined)) return undefined;
    return pages.flatMap((page, at) => page ?? Array<Pushed>(lengths[at]!).fill('queued'));
  }

  // A bulk pushes its pages in consecutive microtasks.
  protected override gather(send: () => void): void {
    afterMicrotasks(() => this.caller.together(send));
  }

  protected override maySendBehind(underWay: number): boolean {
    if (underWay >= PUSHES_AT_ONCE) return false;
    // A batch that has ended refuses the following calls too: they report it even if the first answer was lost.
    const isRest = this.#batch !== undefined && this.waiting[0]?.joining?.id === this.#batch;
    return (!this.#mayRefuse || isRest) && fillsCall(this.waiting);
  }

  #pushPage(entries: readonly Entry[], joining?: Joining): Promise<readonly Pushed[] | undefined> {
    const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
    const since = this.caller.settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      // All entries of a batch may be refused, so they fill a call of their own.
      const jobs = joining === undefined ? entries.length : MOST_JOBS;
      this.enqueue({ entries, joining, jobs, bytes, isSingle: false, since, resolve, reject });
    });
  }

  protected async carry(pushes: readonly Push[], sequence: number, before?: Promise<void>): Promise<void> {
    const { args, count, mayRefuse, placeOf } = entriesOf(pushes.map(({ entries }) => entries));
    const { joining } = pushes[0]!;
    this.#mayRefuse = mayRefuse || joining?.isNew === false;
    this.#batch = mayRefuse ? undefined : joining?.id;
    const consequence = `${count === 1 ? 'a job was' : `${count} jobs were`} not queued`;
    const sentAt = this.moment;
    const push = (rule: 'next' | 'any'): Promise<Answer> =>
      this.caller.script(
        'push',
        joining === undefined ? this.#keys : [...this.#keys, ...joining.keys],
        [sequence, rule, ...args, ...(joining?.args ?? [])],
        { consequence, since: this.waitingSince(pushes) },
      ) as Promise<never>;
    let answer = await push(before === undefined ? 'any' : 'next');
    if (String(answer[0]) === 'gap') {
      this.heard();
      await before;
      answer = await push('any');
    }
    if (String(answer[0]) === 'ended')
      throw batchEnded(this.caller.settings.name, joining!.id, String(answer[1]) as BatchEnd);
    const [, duplicates = [], found, held = [], replaced = []] = answer;
    if (this.forgot(this.#keys[0]!, sentAt, found !== undefined && String(found) === 'unrecorded')) {
      this.#tellForgotten();
      this.#onForgotten();
    }
    for (const number of duplicates) {
      const { list, at } = placeOf(number);
      const { payload } = pushes[list]!.entries[at]!;
      pushes[list]!.reject(new DuplicatePayloadError(this.caller.settings.name, this.#queue, payload));
    }
    const told = new Map<Push, Pushed[]>();
    const tell = (words: readonly (number | Buffer)[], became: (id: string) => Pushed): void => {
      for (let word = 0; word < words.length; word += 2) {
        const { list, at } = placeOf(Number(words[word]));
        const push = pushes[list]!;
        const results = told.get(push) ?? push.entries.map(() => 'queued' as const);
        results[at] = became(String(words[word + 1]));
        told.set(push, results);
      }
    };
    tell(held, (duplicate) => ({ duplicate }));
    tell(replaced, (id) => ({ replaced: id }));
    for (const one of pushes) one.resolve(told.get(one));
  }

  #tellForgotten(): void {
    const { name, address, logger } = this.caller.settings;
    logger.error(
      { connection: name, address, queue: this.#queue, outcome: 'forgotten' },
      `${address} has lost data that it had confirmed: it was flushed, or came back without its data. Jobs that waited there ` +
        'are gone; what was pushed now is there.',
    );
  }
}

function bytesOf({ payload }: Entry): number {
  return pageBytes(payload);
}

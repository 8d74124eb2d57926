/**
 * Pushes to one queue: dispatches that come while a call is under way travel together in the next.
 *
 * Where they fill calls, several are under way. Redis carries such a call out only if the one before it was carried out last:
 * one that is refused, or lost with its connection, holds up those behind it, and a repeat finds out by a number alone how
 * far they came.
 */
import type { BatchEnd, NewBatch } from '../batch-store';
import type { Entry, Pushed } from '../contract';
import { batchEnded, DuplicatePayloadError } from '../errors';
import type { RedisCaller } from './caller';
import { entriesOf } from './entries';
import { type Joining, joiningOf } from './joining';
import type { Keys } from './keys';
import { fillsCall, Lane, type Waiting } from './lane';
import { afterMicrotasks } from '../../base/next-turn';
import { MOST_JOBS, pageBytes, pagesOf } from '../../base/pages';
import { script } from './scripts';

/** So many are enough for Redis never to wait for the next. */
export const PUSHES_AT_ONCE = 10;

type Answer = readonly [
  word: Buffer,
  /** After `ended`: why. */
  duplicates?: readonly number[] | Buffer,
  found?: Buffer,
  /** A place, the id of who holds the key, and so on. */
  held?: readonly (number | Buffer)[],
  /** A place, the id of whose place it took, and so on. */
  replaced?: readonly (number | Buffer)[],
];

interface Push extends Waiting {
  readonly entries: readonly Entry[];
  /** The batch that they join. */
  readonly joining: Joining | undefined;
  /** @param pushed nothing: all are in */
  resolve(pushed?: readonly Pushed[]): void;
}

export class PushLane extends Lane<Push> {
  readonly #queue: string;
  readonly #names: Keys;
  readonly #keys: readonly string[];
  readonly #onForgotten: () => void;
  /** The call that was sent last may be refused a duplicate: what is known of its answer must not be that a later one came. */
  #mayRefuse = false;
  /** The call that was sent last may be refused for nothing but the end of this batch. */
  #batch: string | undefined;

  /** @param onForgotten called when Redis turns out to have lost what it had confirmed */
  constructor(caller: RedisCaller, queue: string, keys: Keys, onForgotten: () => void) {
    super(caller);
    this.#queue = queue;
    this.#names = keys;
    const { client, ready, delayed, notify, unique } = keys.queue(queue);
    this.#keys = [client(this.id), ready, delayed, notify, unique];
    this.#onForgotten = onForgotten;
  }

  /** Longer lists go in several calls, one after another: where one fails, those after it are not sent. Nothing: all are in. */
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

  // A bulk pushes its pages in microtasks, one after another.
  protected override gather(send: () => void): void {
    afterMicrotasks(() => this.caller.together(send));
  }

  protected override maySendBehind(underWay: number): boolean {
    if (underWay >= PUSHES_AT_ONCE) return false;
    // A batch that has ended refuses those behind as well: they tell of it where the answer before theirs is known no more.
    const isRest = this.#batch !== undefined && this.waiting[0]?.joining?.id === this.#batch;
    return (!this.#mayRefuse || isRest) && fillsCall(this.waiting);
  }

  #pushPage(entries: readonly Entry[], joining?: Joining): Promise<readonly Pushed[] | undefined> {
    const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
    const since = this.caller.settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      // Those of a batch may all be refused: they fill a call of their own.
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
        script('push'),
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

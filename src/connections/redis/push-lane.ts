/**
 * Pushes to one queue: dispatches that come while a call is under way travel together in the next.
 *
 * Where they fill calls, several are under way. Redis carries such a call out only if the one before it was carried out last:
 * one that is refused, or lost with its connection, holds up those behind it, and a repeat finds out by a number alone how
 * far they came.
 */
import type { Entry, Pushed } from '../contract';
import { DuplicatePayloadError } from '../errors';
import type { RedisCaller } from './caller';
import type { QueueKeys } from './keys';
import { fillsCall, Lane, type Waiting, whenOf } from './lane';
import { pageBytes, pagesOf } from '../../base/pages';
import { script } from './scripts';

/** So many are enough for Redis never to wait for the next. */
export const PUSHES_AT_ONCE = 4;

type Answer = readonly [
  word: Buffer,
  duplicates?: readonly number[],
  found?: Buffer,
  /** A place, the id of who holds the key, and so on. */
  held?: readonly (number | Buffer)[],
];

interface Push extends Waiting {
  readonly entries: readonly Entry[];
  /** @param pushed nothing: all are in */
  resolve(pushed?: readonly Pushed[]): void;
}

export class PushLane extends Lane<Push> {
  readonly #queue: string;
  readonly #keys: readonly string[];
  readonly #onForgotten: () => void;
  /** The call that was sent last may be refused a duplicate: what is known of its answer must not be that a later one came. */
  #mayRefuse = false;

  /** @param onForgotten called when Redis turns out to have lost what it had confirmed */
  constructor(caller: RedisCaller, queue: string, keys: QueueKeys, onForgotten: () => void) {
    super(caller);
    this.#queue = queue;
    this.#keys = [keys.client(this.id), keys.ready, keys.delayed, keys.notify, keys.unique];
    this.#onForgotten = onForgotten;
  }

  /** Longer lists go in several calls, one after another: where one fails, those after it are not sent. Nothing: all are in. */
  async push(entries: readonly Entry[]): Promise<readonly Pushed[] | undefined> {
    if (entries.length === 1) return this.#pushPage(entries);
    const pages: (readonly Pushed[] | undefined)[] = [];
    const lengths: number[] = [];
    for (const page of pagesOf(entries, bytesOf)) {
      lengths.push(page.length);
      pages.push(await this.#pushPage(page));
    }
    if (pages.every((page) => page === undefined)) return undefined;
    return pages.flatMap((page, at) => page ?? Array<Pushed>(lengths[at]!).fill('queued'));
  }

  protected override get mostUnderWay(): number {
    return !this.#mayRefuse && fillsCall(this.waiting) ? PUSHES_AT_ONCE : 1;
  }

  #pushPage(entries: readonly Entry[]): Promise<readonly Pushed[] | undefined> {
    const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
    const since = this.caller.settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      this.enqueue({ entries, jobs: entries.length, bytes, isSingle: false, since, resolve, reject });
    });
  }

  protected async carry(pushes: readonly Push[], sequence: number, before?: Promise<void>): Promise<void> {
    const ready: string[] = [];
    const delayed: (string | number)[] = [];
    const delayedOf: (readonly [push: Push, payload: string, at: number])[] = [];
    // Those that are ready go in by one command, in which none may stay out. In their order they all stay together.
    const anyTied = pushes.some(({ entries }) => entries.some(({ ties }) => ties !== undefined));
    this.#mayRefuse = anyTied;
    for (const push of pushes) {
      for (const [at, { payload, delay = 0, dueAt, distinct = false, ties }] of push.entries.entries()) {
        if (!anyTied && delay <= 0 && dueAt === undefined) {
          ready.push(payload);
          continue;
        }
        delayed.push(ties ? 'tied' : distinct ? 'unique' : 'any', whenOf(delay, dueAt), payload);
        delayedOf.push([push, payload, at]);
        this.#mayRefuse ||= distinct;
      }
    }
    const jobs = ready.length + delayedOf.length;
    const consequence = `${jobs === 1 ? 'a job was' : `${jobs} jobs were`} not queued`;
    const sentAt = this.moment;
    const push = (rule: 'next' | 'any'): Promise<Answer> =>
      this.caller.script(script('push'), this.#keys, [sequence, rule, ready.length, ...ready, ...delayed], {
        consequence,
        since: this.waitingSince(pushes),
      }) as Promise<never>;
    let answer = await push(before === undefined ? 'any' : 'next');
    if (String(answer[0]) === 'gap') {
      this.heard();
      await before;
      answer = await push('any');
    }
    const [, duplicates = [], found, held = []] = answer;
    if (this.forgot(this.#keys[0]!, sentAt, found !== undefined && String(found) === 'unrecorded')) {
      this.#tellForgotten();
      this.#onForgotten();
    }
    for (const place of duplicates) {
      const [refused, payload] = delayedOf[place - 1]!;
      refused.reject(new DuplicatePayloadError(this.caller.settings.name, this.#queue, payload));
    }
    const kept = new Map<Push, Pushed[]>();
    for (let place = 0; place < held.length; place += 2) {
      const [push, , at] = delayedOf[Number(held[place]) - 1]!;
      if (!kept.has(push))
        kept.set(
          push,
          push.entries.map(() => 'queued' as const),
        );
      kept.get(push)![at] = { duplicate: String(held[place + 1]) };
    }
    for (const one of pushes) one.resolve(kept.get(one));
  }

  #tellForgotten(): void {
    const { name, address, logger } = this.caller.settings;
    logger.error(
      { connection: name, address, queue: this.#queue, outcome: 'forgotten' },
      `${address} has lost what it had confirmed: it was flushed, or came back without its data. Jobs that waited there ` +
        'are gone; what was pushed now is there.',
    );
  }
}

function bytesOf({ payload }: Entry): number {
  return pageBytes(payload);
}

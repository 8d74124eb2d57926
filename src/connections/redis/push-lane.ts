/**
 * Pushes to one queue: dispatches that come while a call is under way travel together in the next.
 *
 * Where they fill calls, several are under way. Redis carries such a call out only if the one before it was carried out last:
 * one that is refused, or lost with its connection, holds up those behind it, and a repeat finds out by a number alone how
 * far they came.
 */
import type { Entry } from '../contract';
import { DuplicatePayloadError } from '../errors';
import type { RedisCaller } from './caller';
import type { QueueKeys } from './keys';
import { fillsCall, Lane, type Waiting, whenOf } from './lane';
import { pageBytes, pagesOf } from '../../base/pages';
import { script } from './scripts';

/** So many are enough for Redis never to wait for the next. */
export const PUSHES_AT_ONCE = 4;

type Answer = readonly [word: Buffer, duplicates?: readonly number[], found?: Buffer];

interface Push extends Waiting {
  readonly entries: readonly Entry[];
  resolve(): void;
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
    this.#keys = [keys.client(this.id), keys.ready, keys.delayed, keys.notify];
    this.#onForgotten = onForgotten;
  }

  /** Longer lists go in several calls, one after another: where one fails, those after it are not sent. */
  async push(entries: readonly Entry[]): Promise<void> {
    if (entries.length === 1) return this.#pushPage(entries);
    for (const page of pagesOf(entries, bytesOf)) await this.#pushPage(page);
  }

  protected override get mostUnderWay(): number {
    return !this.#mayRefuse && fillsCall(this.waiting) ? PUSHES_AT_ONCE : 1;
  }

  #pushPage(entries: readonly Entry[]): Promise<void> {
    const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
    const since = this.caller.settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      this.enqueue({ entries, jobs: entries.length, bytes, isSingle: false, since, resolve, reject });
    });
  }

  protected async carry(pushes: readonly Push[], sequence: number, before?: Promise<void>): Promise<void> {
    const ready: string[] = [];
    const delayed: (string | number)[] = [];
    const delayedOf: (readonly [push: Push, payload: string])[] = [];
    this.#mayRefuse = false;
    for (const push of pushes) {
      for (const { payload, delay = 0, dueAt, distinct = false } of push.entries) {
        if (delay <= 0 && dueAt === undefined) {
          ready.push(payload);
          continue;
        }
        delayed.push(distinct ? 'unique' : 'any', whenOf(delay, dueAt), payload);
        delayedOf.push([push, payload]);
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
    const [, duplicates = [], found] = answer;
    if (this.forgot(this.#keys[0]!, sentAt, found !== undefined && String(found) === 'unrecorded')) {
      this.#tellForgotten();
      this.#onForgotten();
    }
    for (const place of duplicates) {
      const [refused, payload] = delayedOf[place - 1]!;
      refused.reject(new DuplicatePayloadError(this.caller.settings.name, this.#queue, payload));
    }
    for (const one of pushes) one.resolve();
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

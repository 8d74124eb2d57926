/** Pushes to one queue: dispatches that come while a call is under way travel together in the next. */
import type { Entry } from '../contract';
import { DuplicatePayloadError } from '../errors';
import type { RedisCaller } from './caller';
import type { QueueKeys } from './keys';
import { Lane, type Waiting, whenOf } from './lane';
import { pageBytes, pagesOf } from '../../base/pages';
import { script } from './scripts';

interface Push extends Waiting {
  readonly entries: readonly Entry[];
  resolve(): void;
}

export class PushLane extends Lane<Push> {
  readonly #queue: string;
  readonly #keys: QueueKeys;
  readonly #onForgotten: () => void;

  /** @param onForgotten called when Redis turns out to have lost what it had confirmed */
  constructor(caller: RedisCaller, queue: string, keys: QueueKeys, onForgotten: () => void) {
    super(caller);
    this.#queue = queue;
    this.#keys = keys;
    this.#onForgotten = onForgotten;
  }

  /** Longer lists go in several calls, one after another: where one fails, those after it are not sent. */
  async push(entries: readonly Entry[]): Promise<void> {
    for (const page of pagesOf(entries, bytesOf)) await this.#pushPage(page);
  }

  #pushPage(entries: readonly Entry[]): Promise<void> {
    const bytes = entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
    const since = this.caller.settings.clock.monotonic();
    return new Promise((resolve, reject) => {
      this.enqueue({ entries, jobs: entries.length, bytes, isSingle: false, since, resolve, reject });
    });
  }

  protected async carry(pushes: readonly Push[], sequence: number): Promise<void> {
    const ready: string[] = [];
    const delayed: (string | number)[] = [];
    const delayedOf: Push[] = [];
    const payloadsOf: string[] = [];
    for (const push of pushes) {
      for (const { payload, delay = 0, dueAt, unique = false } of push.entries) {
        if (delay <= 0 && dueAt === undefined) {
          ready.push(payload);
          continue;
        }
        delayed.push(unique ? 'unique' : 'any', whenOf(delay, dueAt), payload);
        delayedOf.push(push);
        payloadsOf.push(payload);
      }
    }
    const { client, ready: readyKey, delayed: delayedKey, notify } = this.#keys;
    const jobs = ready.length + delayedOf.length;
    const sentAt = this.moment;
    const [, duplicates, record] = (await this.caller.script(
      script('push'),
      [client(this.id), readyKey, delayedKey, notify],
      [sequence, ready.length, ...ready, ...delayed],
      {
        consequence: `${jobs === 1 ? 'a job was' : `${jobs} jobs were`} not queued`,
        since: this.waitingSince(pushes),
      },
    )) as [word: unknown, duplicates: readonly number[], record: Buffer];
    if (this.forgot(client(this.id), sentAt, String(record) === 'unrecorded')) {
      this.#tellForgotten();
      this.#onForgotten();
    }
    for (const place of duplicates) {
      const error = new DuplicatePayloadError(this.caller.settings.name, this.#queue, payloadsOf[place - 1]!);
      delayedOf[place - 1]!.reject(error);
    }
    for (const push of pushes) push.resolve();
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

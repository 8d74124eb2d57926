/**
 * Waits for work by a reserve that the server answers when there is some. The job that it brings is kept for the reserve
 * that follows; where nobody waits any more, it is given back unseen.
 */
import type { Clock, Seconds } from '../../base/clock';
import type { Waiter } from '../contract';
import { ConnectionClosedError } from '../errors';
import { wholeSeconds } from './commands';
import { patiently } from './link';
import type { Reserver } from './reserver';
import type { Reservers } from './reservers';

/** So long a reserve waits on the server, also after whoever asked has gone. */
const LONGEST_WAIT: Seconds = 2;
/** Where no connection is left to wait on. */
const PAUSE: Seconds = 0.25;

export class BeanstalkdWaiter implements Waiter {
  readonly #connection: string;
  readonly #clock: Clock;
  readonly #reservers: Reservers;
  readonly #tubes: readonly string[];
  readonly #closing = new AbortController();
  readonly #waits = new Set<() => void>();
  #isReserving = false;
  /** On which it waits. */
  #reserver: Reserver | undefined;

  constructor(connection: string, clock: Clock, reservers: Reservers, tubes: readonly string[]) {
    this.#connection = connection;
    this.#clock = clock;
    this.#reservers = reservers;
    this.#tubes = tubes;
  }

  async wait(seconds: Seconds, signal: AbortSignal): Promise<void> {
    const closing = this.#closing.signal;
    if (closing.aborted) throw new ConnectionClosedError(this.#connection, 'wait');
    if (signal.aborted || seconds <= 0 || this.#reservers.hasAwaited(this.#tubes)) return;
    const within = Math.min(seconds, LONGEST_WAIT);
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', finish);
        this.#waits.delete(finish);
        resolve();
      };
      const timer = this.#clock.after(within * 1000, finish, true);
      signal.addEventListener('abort', finish);
      this.#waits.add(finish);
      if (!this.#isReserving) void this.#reserve(wholeSeconds(within));
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    for (const job of this.#reservers.takeAwaited(this.#tubes)) await job.reserver.giveBack([job]);
    const reserver = this.#reserver;
    if (reserver === undefined) return;
    const { link, caller } = reserver;
    this.#reservers.remove(reserver);
    // The server answers a wait at once when it hears that no more is to come.
    link.finish();
    await patiently(this.#clock, link.ended, caller.deadline).catch(() => link.close());
  }

  async #reserve(seconds: Seconds): Promise<void> {
    this.#isReserving = true;
    try {
      const reserver = await this.#reservers.idle('no job was waited for');
      if (reserver === undefined) {
        await new Promise<void>((resolve) => void this.#clock.after(PAUSE * 1000, resolve));
      } else if (!this.#closing.signal.aborted) {
        this.#reserver = reserver;
        const job = await reserver.wait(this.#tubes, seconds);
        if (job !== undefined) {
          if (this.#waits.size > 0) this.#reservers.bring(job);
          else await reserver.giveBack([job]);
        }
      }
    } catch {
      // The reserve that follows meets the same trouble, and tells it.
    } finally {
      this.#reserver = undefined;
      this.#isReserving = false;
      this.#wake();
    }
  }

  #wake(): void {
    for (const finish of this.#waits) finish();
  }
}

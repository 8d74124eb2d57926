/** Waits for hints on all queues of a worker at once. */
import type { Clock, Seconds } from '../../base/clock';
import type { Waiter } from '../contract';
import { ConnectionClosedError } from '../errors';
import type { HintRead, HintWait } from './hint-read';

/** A read that others may share, and what is waited for with it. */
export interface JoinedRead {
  readonly read: HintRead;
  readonly keys: readonly string[];
}

export interface RedisWaiterSettings {
  /** The connection's name in the configuration. */
  readonly connection: string;
  readonly clock: Clock;
  /** No wait is longer: the net under lost hints, for whoever took one may have died before it looked. */
  readonly longest: Seconds;
  /** One, or in a cluster one for each slot. */
  readonly reads: readonly JoinedRead[];
  /** Called once, when the waiter is closed. */
  readonly left: () => void;
}

export class RedisWaiter implements Waiter {
  readonly #settings: RedisWaiterSettings;
  readonly #closing = new AbortController();

  constructor(settings: RedisWaiterSettings) {
    this.#settings = settings;
  }

  async wait(seconds: Seconds, signal: AbortSignal): Promise<void> {
    const { connection, clock, longest, reads } = this.#settings;
    const closing = this.#closing.signal;
    if (closing.aborted) throw new ConnectionClosedError(connection, 'wait');
    if (signal.aborted || seconds <= 0) return;
    const milliseconds = Math.min(seconds, longest) * 1000;
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', finish);
        closing.removeEventListener('abort', finish);
        for (const [read, wait] of waits) read.leave(wait);
        resolve();
      };
      const until = clock.monotonic() + milliseconds;
      const waits = reads.map(({ read, keys }): [HintRead, HintWait] => [read, { keys, until, wake: finish }]);
      const timer = clock.after(milliseconds, finish, true);
      signal.addEventListener('abort', finish);
      closing.addEventListener('abort', finish);
      for (const [read, wait] of waits) read.join(wait);
    });
  }

  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    this.#settings.left();
  }
}

/** Waits for hints on all queues of a worker at once. */
import type { Clock, Seconds } from '../../clock/clock';
import type { Waiter } from '../../queue/connection';
import { ConnectionClosedError } from '../errors';
import type { HintRead } from './hint-read';

export class RedisWaiter implements Waiter {
  readonly #connection: string;
  readonly #clock: Clock;
  readonly #reads: readonly HintRead[];
  readonly #longest: Seconds;
  readonly #closing = new AbortController();

  /**
   * @param reads one, or in a cluster one for each slot
   * @param longest no wait is longer: the net under lost hints, for whoever took one may have died before it looked
   */
  constructor(connection: string, clock: Clock, reads: readonly HintRead[], longest: Seconds) {
    this.#connection = connection;
    this.#clock = clock;
    this.#reads = reads;
    this.#longest = longest;
  }

  async wait(seconds: Seconds, signal: AbortSignal): Promise<void> {
    const closing = this.#closing.signal;
    if (closing.aborted) throw new ConnectionClosedError(this.#connection, 'wait');
    if (signal.aborted || seconds <= 0) return;
    const milliseconds = Math.min(seconds, this.#longest) * 1000;
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        timer.cancel();
        signal.removeEventListener('abort', finish);
        closing.removeEventListener('abort', finish);
        for (const read of this.#reads) read.leave(finish);
        resolve();
      };
      const timer = this.#clock.after(milliseconds, finish, true);
      signal.addEventListener('abort', finish);
      closing.addEventListener('abort', finish);
      for (const read of this.#reads) read.join(finish, milliseconds);
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    for (const read of this.#reads) read.close();
  }
}

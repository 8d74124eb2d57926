/**
 * Waits for work on servers that cannot wake anyone: idle workers poll, at intervals that double up to the worker's own.
 * When this process pushes or gives back a job, they poll at once.
 */
import type { Clock, Seconds } from '../../../base/clock';
import type { Waiter } from '../../contract';
import type { Waiters } from '../dialect';
import { HintWaiters } from '../server/hint-waiters';

const SHORTEST: Seconds = 0.05;

interface Polling {
  readonly queues: readonly string[];
  pause: Seconds;
}

export class PollWaiters implements Waiters {
  readonly #clock: Clock;
  readonly #waiters: HintWaiters;
  readonly #polling = new Set<Polling>();

  /** @param connection its name in the configuration */
  constructor(connection: string, clock: Clock) {
    this.#clock = clock;
    this.#waiters = new HintWaiters(connection, clock);
  }

  open(queues: readonly string[]): Waiter {
    const polling: Polling = { queues, pause: SHORTEST };
    this.#polling.add(polling);
    return this.#waiters.open(queues, {
      listen: (wake, seconds) => {
        const timer = this.#clock.after(Math.min(seconds, polling.pause) * 1000, () => wake(), true);
        polling.pause = Math.min(polling.pause * 2, seconds);
        return () => timer.cancel();
      },
      left: () => void this.#polling.delete(polling),
    });
  }

  wrote(queue: string): void {
    this.#waiters.hint(queue);
  }

  busy(queues: readonly string[]): void {
    for (const polling of this.#polling) {
      if (queues.some((queue) => polling.queues.includes(queue))) polling.pause = SHORTEST;
    }
  }

  close(): Promise<void> {
    return this.#waiters.close();
  }
}

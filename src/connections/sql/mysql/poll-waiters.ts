/**
 * Waits for work where the server cannot wake anyone: idle workers look again after pauses that double from one to the
 * next, up to the worker's own. What this process pushes, or gives back, ends them at once.
 */
import type { Clock, Seconds } from '../../../base/clock';
import type { Waiter } from '../../contract';
import { ConnectionClosedError } from '../../errors';
import type { Waiters } from '../dialect';
import { HintWaiter } from '../server/hint-waiter';

const SHORTEST: Seconds = 0.05;

export class PollWaiters implements Waiters {
  readonly #connection: string;
  readonly #clock: Clock;
  readonly #open = new Set<PollWaiter>();
  #closed = false;

  /** @param connection its name in the configuration */
  constructor(connection: string, clock: Clock) {
    this.#connection = connection;
    this.#clock = clock;
  }

  open(queues: readonly string[]): Waiter {
    const waiter: PollWaiter = new PollWaiter(queues, {
      clock: this.#clock,
      begins: () => {
        if (this.#closed) throw new ConnectionClosedError(this.#connection, 'wait');
      },
      ended: () => void this.#open.delete(waiter),
    });
    this.#open.add(waiter);
    return waiter;
  }

  wrote(queue: string): void {
    for (const waiter of this.#open) waiter.hint(queue);
  }

  busy(queues: readonly string[]): void {
    for (const waiter of this.#open) waiter.busy(queues);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open].map((waiter) => waiter.close()));
  }
}

class PollWaiter extends HintWaiter {
  readonly #names: ReadonlySet<string>;
  #pause = SHORTEST;

  constructor(queues: readonly string[], options: ConstructorParameters<typeof HintWaiter>[1]) {
    super(queues, options);
    this.#names = new Set(queues);
  }

  override wait(seconds: Seconds, signal: AbortSignal): Promise<void> {
    const pause = Math.min(seconds, this.#pause);
    this.#pause = Math.min(this.#pause * 2, seconds);
    return super.wait(pause, signal);
  }

  busy(queues: readonly string[]): void {
    if (queues.some((queue) => this.#names.has(queue))) this.#pause = SHORTEST;
  }
}

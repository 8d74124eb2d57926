/** Waiters that are woken by hints. A hint that came between two waits ends the second one at once. */
import type { Clock } from '../../../base/clock';
import type { Waiter } from '../../contract';
import { type Listening, type Wake, Waiters } from '../../kit/waiters';

interface Hinted {
  readonly queues: ReadonlySet<string>;
  readonly wakes: Set<Wake>;
  hinted: boolean;
}

export class HintWaiters {
  readonly #waiters: Waiters;
  readonly #open = new Set<Hinted>();

  constructor(connection: string, clock: Clock) {
    this.#waiters = new Waiters(connection, clock);
  }

  get size(): number {
    return this.#open.size;
  }

  open(queues: readonly string[], { listen, left }: Listening): Waiter {
    const waiter: Hinted = { queues: new Set(queues), wakes: new Set(), hinted: false };
    this.#open.add(waiter);
    return this.#waiters.open({
      listen: (wake, seconds) => {
        const leave = listen(wake, seconds);
        waiter.wakes.add(wake);
        if (waiter.hinted) wake();
        waiter.hinted = false;
        return () => {
          waiter.wakes.delete(wake);
          leave();
        };
      },
      left: () => {
        this.#open.delete(waiter);
        return left?.();
      },
    });
  }

  /** Wakes those who wait for the queue; without a queue, everybody. */
  hint(queue?: string): void {
    for (const waiter of this.#open) {
      if (queue !== undefined && !waiter.queues.has(queue)) continue;
      if (waiter.wakes.size === 0) waiter.hinted = true;
      for (const wake of waiter.wakes) wake();
    }
  }

  close(): Promise<void> {
    return this.#waiters.close();
  }
}

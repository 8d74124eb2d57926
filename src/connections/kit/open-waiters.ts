/** The waiters of one connection, which end with it. One that is closed before is let go: a process may run worker after worker. */
import type { Waiter } from '../contract';

export class OpenWaiters {
  readonly #open = new Set<Waiter>();

  /** The same waiter, as its user is to have it. */
  add(waiter: Waiter): Waiter {
    this.#open.add(waiter);
    return {
      wait: (seconds, signal) => waiter.wait(seconds, signal),
      close: () => {
        this.#open.delete(waiter);
        return waiter.close();
      },
    };
  }

  get size(): number {
    return this.#open.size;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((waiter) => waiter.close()));
    this.#open.clear();
  }
}

/** Waits until one of a worker's queues has a ready job. */
import type { Waiter } from 'onqueue';

export class ArrayWaiter implements Waiter {
  readonly #isReady: () => boolean;
  readonly #waits = new Set<() => void>();

  constructor(isReady: () => boolean) {
    this.#isReady = isReady;
  }

  async wait(seconds: number, signal: AbortSignal): Promise<void> {
    // Check before waiting: a job may have been pushed since the last reserve.
    if (this.#isReady() || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.#waits.delete(end);
        resolve();
      };
      // Node.js fires a timer longer than this at once.
      const timer = setTimeout(end, Math.min(seconds * 1000, 2 ** 31 - 1));
      timer.unref();
      signal.addEventListener('abort', end);
      this.#waits.add(end);
    });
  }

  /** Waking up for nothing is allowed: the worker looks again and goes on waiting. */
  wake(): void {
    for (const end of this.#waits) end();
  }

  async close(): Promise<void> {
    this.wake();
  }
}

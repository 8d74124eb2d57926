/** The calls that wait until one of their queues has a ready job. */
export class ArrayWaits {
  readonly #waits = new Set<() => void>();

  /** Resolves when there is a job, when `seconds` have passed, or when `signal` aborts; perhaps sooner. */
  async until(isReady: () => boolean, seconds: number, signal?: AbortSignal): Promise<void> {
    // Check before waiting: a job may have been pushed since the last reserve.
    if (seconds <= 0 || isReady() || signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', end);
        this.#waits.delete(end);
        resolve();
      };
      // Node.js fires a timer longer than this at once.
      const timer = setTimeout(end, Math.min(seconds * 1000, 2 ** 31 - 1));
      timer.unref();
      signal?.addEventListener('abort', end);
      this.#waits.add(end);
    });
  }

  /** Waking up for nothing is allowed: the worker looks again and goes on waiting. */
  wake(): void {
    for (const end of this.#waits) end();
  }
}

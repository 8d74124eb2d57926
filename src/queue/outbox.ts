/**
 * The dispatches that nobody has awaited yet. They are sent a microtask later, and a manager that closes sends and
 * waits for all of them: a forgotten `await` must not lose a job.
 */

/** A dispatch on its way. */
export interface Unsent {
  /** Sends it, once however often it is called. Never rejects: what goes wrong is the dispatch's own affair. */
  send(): Promise<void>;
}

export class Outbox {
  #waiting: Unsent[] = [];
  readonly #inFlight = new Set<Promise<void>>();

  add(unsent: Unsent): void {
    this.#waiting.push(unsent);
    // By a promise and not by queueMicrotask, which fake timers of test runners replace.
    if (this.#waiting.length === 1) void Promise.resolve().then(() => this.#sendWaiting());
  }

  /** Sends what waits; resolves when nothing is on its way any more. */
  async flush(): Promise<void> {
    while (this.#waiting.length > 0 || this.#inFlight.size > 0) {
      this.#sendWaiting();
      await Promise.all(this.#inFlight);
    }
  }

  /** Has `flush` wait for it. Must not reject. */
  track(sending: Promise<void>): void {
    this.#inFlight.add(sending);
    void sending.then(() => this.#inFlight.delete(sending));
  }

  #sendWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const unsent of waiting) this.track(unsent.send());
  }
}

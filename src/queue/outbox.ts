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
  /** How many are on their way. Counted: a set of them would keep each alive until a full garbage collection. */
  #inFlight = 0;
  #onLanded: (() => void)[] = [];

  add(unsent: Unsent): void {
    this.#waiting.push(unsent);
    // By a promise and not by queueMicrotask, which fake timers of test runners replace.
    if (this.#waiting.length === 1) void Promise.resolve().then(() => this.#sendWaiting());
  }

  /** Sends what waits; resolves when nothing is on its way any more. */
  async flush(): Promise<void> {
    while (this.#waiting.length > 0 || this.#inFlight > 0) {
      this.#sendWaiting();
      await new Promise<void>((resolve) => this.#onLanded.push(resolve));
    }
  }

  /** Has `flush` wait for it. Must not reject. */
  track(sending: Promise<void>): void {
    this.#inFlight += 1;
    void sending.then(() => this.#landed());
  }

  #landed(): void {
    this.#inFlight -= 1;
    if (this.#inFlight > 0) return;
    const told = this.#onLanded;
    this.#onLanded = [];
    for (const tell of told) tell();
  }

  #sendWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const unsent of waiting) this.track(unsent.send());
  }
}

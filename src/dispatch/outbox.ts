/**
 * The dispatches on their way. Each begins a microtask after it was made, and a manager that closes waits for all of
 * them: a forgotten `await` must not lose a job.
 */

/** By a promise and not by queueMicrotask, which fake timers of test runners replace. */
const NEXT = Promise.resolve();

export class Outbox {
  /** How many are on their way. Counted: a set of them would keep each alive until a full garbage collection. */
  #inFlight = 0;
  #onLanded: (() => void)[] = [];
  readonly #land = (): void => {
    this.#inFlight -= 1;
    if (this.#inFlight > 0) return;
    const told = this.#onLanded;
    this.#onLanded = [];
    for (const tell of told) tell();
  };

  /**
   * Has it begin a microtask from now, in the async context of this very call: sent from that of another, a job would
   * carry the tenant of somebody else. Those of one turn begin right after each other, so that a store takes them in one
   * call.
   */
  send<T>(begin: () => Promise<T> | T): Promise<T> {
    const sent = NEXT.then(begin);
    this.track(sent);
    return sent;
  }

  /** Resolves when nothing is on its way any more. */
  async flush(): Promise<void> {
    while (this.#inFlight > 0) await new Promise<void>((resolve) => this.#onLanded.push(resolve));
  }

  /** Has `flush` wait for it, however it ends. */
  track(sending: Promise<unknown>): void {
    this.#inFlight += 1;
    sending.then(this.#land, this.#land);
  }
}

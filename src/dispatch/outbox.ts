/**
 * Dispatches on their way. Each begins one microtask after it was made, and a manager that closes waits for all of them: a
 * forgotten `await` must not lose a job.
 */

/** A promise, because fake timers of test runners replace queueMicrotask. */
const NEXT = Promise.resolve();

export class Outbox {
  /** How many are on their way. A count, because a set of them would keep each alive until a full garbage collection. */
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
   * Calls `begin` one microtask from now, in the async context of this call: in the context of another one, a job would carry
   * somebody else's tenant. Dispatches of one turn begin one right after the other, so that a store can take them in one call.
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

  /** Makes `flush` wait for it, however it ends. */
  track(sending: Promise<unknown>): void {
    this.#inFlight += 1;
    sending.then(this.#land, this.#land);
  }
}

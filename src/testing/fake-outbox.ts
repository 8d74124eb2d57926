/** The outbox of a fake: what a test has dispatched can be asserted at once, before its microtask has come. */
import { AsyncResource } from 'node:async_hooks';
import { Outbox } from '../dispatch/outbox';

export class FakeOutbox extends Outbox {
  readonly #waiting = new Set<() => unknown>();

  override send<T>(begin: () => Promise<T>): Promise<T> {
    let begun: Promise<T> | undefined;
    const beginOnce = AsyncResource.bind(() => (begun ??= begin()));
    this.#waiting.add(beginOnce);
    return super.send(() => {
      this.#waiting.delete(beginOnce);
      return beginOnce();
    });
  }

  /** Begins what waits for its microtask. */
  sendNow(): void {
    for (const begin of this.#waiting) begin();
    this.#waiting.clear();
  }
}

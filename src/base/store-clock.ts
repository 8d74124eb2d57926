/**
 * The clock of a store, as far as its answers tell: our own may be hours off, and decides nothing. Between two answers
 * the time that has passed here is added.
 */
import type { Clock, Milliseconds } from './clock';

/** Clocks drift, and are set. */
const TRUSTED: Milliseconds = 60_000;

export class StoreClock {
  readonly #clock: Clock;
  /** What it was ahead of our monotonic clock when it was last told; undefined: it never was. */
  #ahead: Milliseconds | undefined;
  #toldAt: Milliseconds = -Infinity;
  #asking: Promise<Milliseconds> | undefined;

  /** @param clock stands in for it until it was told */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** To be called as soon as the answer is there. */
  told(now: Milliseconds): void {
    this.#toldAt = this.#clock.monotonic();
    this.#ahead = now - this.#toldAt;
  }

  now(): Milliseconds {
    return this.#ahead === undefined ? this.#clock.now() : this.#clock.monotonic() + this.#ahead;
  }

  /** Asks the store once a minute, and once for all that want to know meanwhile. */
  async current(ask: () => Promise<Milliseconds>): Promise<Milliseconds> {
    if (this.#clock.monotonic() - this.#toldAt > TRUSTED) {
      this.#asking ??= ask().finally(() => (this.#asking = undefined));
      this.told(await this.#asking);
    }
    return this.now();
  }
}

/**
 * The clock of a store, as its answers tell it: our own may be hours off, and decides nothing. Between two answers we add the
 * time that has passed here.
 */
import type { Clock, Milliseconds } from './clock';

/** After this time we ask again: clocks drift and are set. */
const TRUSTED: Milliseconds = 60_000;

export class StoreClock {
  readonly #clock: Clock;
  /** How far the store was ahead of our monotonic clock at its last answer. Undefined before the first. */
  #ahead: Milliseconds | undefined;
  #toldAt: Milliseconds = -Infinity;
  #asking: Promise<Milliseconds> | undefined;

  /** @param clock used until the store has answered */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call it as soon as the answer arrives. */
  told(now: Milliseconds): void {
    this.#toldAt = this.#clock.monotonic();
    this.#ahead = now - this.#toldAt;
  }

  now(): Milliseconds {
    return this.#ahead === undefined ? this.#clock.now() : this.#clock.monotonic() + this.#ahead;
  }

  /** Asks the store at most once a minute, and once for all concurrent callers. */
  async current(ask: () => Promise<Milliseconds>): Promise<Milliseconds> {
    if (this.#clock.monotonic() - this.#toldAt > TRUSTED) {
      this.#asking ??= ask().finally(() => (this.#asking = undefined));
      this.told(await this.#asking);
    }
    return this.now();
  }
}

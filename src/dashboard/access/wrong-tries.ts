/** Counts wrong tokens by sender: after a few, nobody can sign in from that address for a while. */
import type { Clock, Milliseconds, Seconds } from '../../base/clock';

const FREE = 5;
const PAUSE: Milliseconds = 60_000;
/** Addresses that are remembered. If this many have tried within a minute, new addresses must wait too. */
const MOST = 1000;

interface Tries {
  readonly count: number;
  readonly at: Milliseconds;
}

export class WrongTries {
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #tries = new Map<string, Tries>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long the address must wait; 0 if it need not. */
  pauseOf(address: string): Seconds {
    this.#forget();
    const [oldest] = this.#tries.values();
    const { count, at } = this.#tries.get(address) ?? (this.#tries.size < MOST ? NONE : { ...oldest!, count: FREE });
    return count < FREE ? 0 : Math.max(1, Math.ceil((at + PAUSE - this.#clock.monotonic()) / 1000));
  }

  add(address: string): void {
    const { count } = this.#tries.get(address) ?? NONE;
    this.#tries.delete(address);
    this.#tries.set(address, { count: count + 1, at: this.#clock.monotonic() });
  }

  #forget(): void {
    for (const [address, { at }] of this.#tries) {
      if (this.#clock.monotonic() - at < PAUSE) return;
      this.#tries.delete(address);
    }
  }
}

const NONE: Tries = { count: 0, at: 0 };

/** Notices how late the event loop is, and when the store was last heard. */
import type { Clock, Milliseconds, Seconds, Timer } from '../clock/clock';

const BEAT: Milliseconds = 1000;

export class Pulse {
  readonly #clock: Clock;
  readonly #begunAt: Milliseconds;
  #expectedAt: Milliseconds;
  #lag: Milliseconds = 0;
  #polledAt: Milliseconds | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#begunAt = this.#expectedAt = clock.monotonic();
    this.#beat();
  }

  /** The store has answered a reserve. */
  polled(): void {
    this.#polledAt = this.#clock.monotonic();
  }

  get sinceLastPoll(): Seconds | undefined {
    return this.#polledAt === undefined ? undefined : (this.#clock.monotonic() - this.#polledAt) / 1000;
  }

  /** Of the store; before it was ever heard, since the worker was made. */
  get silence(): Seconds {
    return (this.#clock.monotonic() - (this.#polledAt ?? this.#begunAt)) / 1000;
  }

  /** Also where the loop is late right now, and the next beat is still to come. */
  get lag(): Milliseconds {
    return Math.round(Math.max(this.#lag, this.#clock.monotonic() - this.#expectedAt));
  }

  /** Leaves no timer behind. */
  close(): void {
    this.#timer?.cancel();
  }

  #beat(): void {
    const now = this.#clock.monotonic();
    this.#lag = Math.max(0, now - this.#expectedAt);
    this.#expectedAt = now + BEAT;
    this.#timer = this.#clock.after(BEAT, () => this.#beat());
  }
}

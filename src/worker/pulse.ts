/** Notices how late the event loop is, and when the store was last heard. */
import type { Clock, Milliseconds, Seconds, Timer } from '../base/clock';

const BEAT: Milliseconds = 1000;

/** A worker that has slots, knows of no trouble and was answered by nobody for so long is stuck. */
const LONGEST_SILENCE: Seconds = 30;

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

  /** Whether the store is silent for too long to one that asks it every `sleep`; before it was ever heard, since the worker was made. */
  isSilent(sleep: Seconds): boolean {
    const silence = (this.#clock.monotonic() - (this.#polledAt ?? this.#begunAt)) / 1000;
    return silence > Math.max(LONGEST_SILENCE, 3 * sleep);
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

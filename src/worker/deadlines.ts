/**
 * The timeouts of all runs of a worker on one timer.
 *
 * A timer for each job would be armed and cancelled for every job of a millisecond; here a run costs an entry in a map,
 * and the timer is only moved when an earlier deadline comes in.
 */
import type { Clock, Milliseconds, Timer } from '../clock/clock';

export class Deadlines<Key extends object> {
  readonly #clock: Clock;
  readonly #entries = new Map<Key, { readonly at: Milliseconds; readonly expire: () => void }>();
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` once after `milliseconds`, unless the key is removed or set anew before. */
  set(key: Key, milliseconds: Milliseconds, expire: () => void): void {
    const at = this.#clock.monotonic() + milliseconds;
    this.#entries.set(key, { at, expire });
    if (at < this.#timerAt) this.#arm(at);
  }

  // The timer stays: it is cheaper to let it find nothing than to arm it anew for the next short job.
  remove(key: Key): void {
    this.#entries.delete(key);
  }

  /** Forgets all deadlines and leaves no timer behind. */
  close(): void {
    this.#entries.clear();
    this.#disarm();
  }

  #arm(at: Milliseconds): void {
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = this.#clock.after(Math.max(0, at - this.#clock.monotonic()), () => this.#expire());
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#timerAt = Infinity;
  }

  #expire(): void {
    this.#disarm();
    const now = this.#clock.monotonic();
    let next = Infinity;
    const due: (() => void)[] = [];
    for (const [key, { at, expire }] of this.#entries) {
      if (at <= now) {
        this.#entries.delete(key);
        due.push(expire);
      } else if (at < next) next = at;
    }
    if (next < Infinity) this.#arm(next);
    for (const expire of due) expire();
  }
}

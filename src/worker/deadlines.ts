/**
 * The timeouts of all runs of a worker on one timer.
 *
 * A timer for each job would be armed and cancelled for every job of a millisecond; here a run costs a place in a list,
 * and the timer is only moved when an earlier deadline comes in.
 */
import type { Clock, Milliseconds, Timer } from '../base/clock';
import { type Member, Roster } from './roster';

export class Deadline implements Member {
  position: number | undefined;
  at: Milliseconds = Infinity;
  expire: () => void = () => undefined;
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #open = new Roster<Deadline>();
  #timer: Timer | undefined;
  #timerAt = Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `expire` once after `milliseconds`, unless the deadline is removed or set anew before. */
  set(deadline: Deadline, milliseconds: Milliseconds, expire: () => void): void {
    deadline.at = this.#clock.monotonic() + milliseconds;
    deadline.expire = expire;
    this.#open.add(deadline);
    if (deadline.at < this.#timerAt) this.#arm(deadline.at);
  }

  // The timer stays: it is cheaper to let it find nothing than to arm it anew for the next short job.
  remove(deadline: Deadline): void {
    this.#open.delete(deadline);
  }

  /** Forgets all deadlines and leaves no timer behind. */
  close(): void {
    this.#open.clear();
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
    const due: Deadline[] = [];
    for (const deadline of this.#open) {
      if (deadline.at <= now) {
        this.#open.delete(deadline);
        due.push(deadline);
      } else next = Math.min(next, deadline.at);
    }
    if (next < Infinity) this.#arm(next);
    for (const { expire } of due.toSorted((one, other) => one.at - other.at)) expire();
  }
}

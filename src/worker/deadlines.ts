/**
 * The timeouts of all runs of a worker, on one timer.
 *
 * A timer per job would be armed and cancelled even for jobs that take a millisecond. Here a run costs a place in a list,
 * and the timer moves only for an earlier deadline.
 */
import { AsyncResource } from 'node:async_hooks';
import type { Clock, Milliseconds, Timer } from '../base/clock';
import { DenseSet, type DenseSetMember } from '../base/collections';

export class Deadline implements DenseSetMember {
  position: number | undefined;
  at: Milliseconds = Infinity;
  readonly expire: () => void;

  constructor(expire: () => void) {
    this.expire = expire;
  }
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #open = new DenseSet<Deadline>();
  #timer: Timer | undefined;
  #timerAt = Infinity;
  /** In the worker's context, whichever job's code set the deadline for which the timer was armed. */
  readonly #expired = AsyncResource.bind(() => this.#expire());

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes a deadline expire once after `milliseconds`, unless it is removed or set again before. */
  set(deadline: Deadline, milliseconds: Milliseconds): void {
    deadline.at = this.#clock.monotonic() + milliseconds;
    this.#open.add(deadline);
    if (deadline.at < this.#timerAt) this.#arm(deadline.at);
  }

  // The timer stays armed: letting it fire for nothing is cheaper than arming it again for the next short job.
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
    this.#timer = this.#clock.after(Math.max(0, at - this.#clock.monotonic()), this.#expired);
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timerAt = Infinity;
  }

  #expire(): void {
    this.#disarm();
    const now = this.#clock.monotonic();
    const due = [...this.#open].filter(({ at }) => at <= now).toSorted((one, other) => one.at - other.at);
    for (const deadline of due) this.#open.delete(deadline);
    let next = Infinity;
    for (const { at } of this.#open) next = Math.min(next, at);
    if (next < Infinity) this.#arm(next);
    for (const { expire } of due) expire();
  }
}

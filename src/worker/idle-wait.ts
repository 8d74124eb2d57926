/** How an idle worker waits: for the store to wake it, and for a moment, whichever comes first. */
import type { Clock, Milliseconds, Seconds, Timer } from '../base/clock';
import type { Connection, Waiter } from '../connections/contract';

/** The net under lost hints: a store that wakes us is looked at again after this time all the same. */
const LONGEST_WAIT: Seconds = 2;

export class IdleWait {
  readonly #connection: Connection;
  readonly #queues: readonly string[];
  readonly #seconds: Seconds;
  readonly #pause: Seconds;
  readonly #clock: Clock;
  readonly #ring: () => void;
  #waiter: Waiter | undefined;
  #waiting: AbortController | undefined;
  #woken = false;
  #timer: Timer | undefined;

  constructor(connection: Connection, queues: readonly string[], sleep: Seconds, clock: Clock, ring: () => void) {
    this.#connection = connection;
    this.#queues = queues;
    this.#pause = sleep;
    this.#seconds = connection.capabilities.wake ? LONGEST_WAIT : sleep;
    this.#clock = clock;
    this.#ring = ring;
  }

  /** True once for each wake-up by the store. */
  takeWakeUp(): boolean {
    const woken = this.#woken;
    this.#woken = false;
    return woken;
  }

  /** Rings at `moment` (of the monotonic clock), and under `idle` also when the store wakes us. */
  until(moment: Milliseconds, idle: boolean): void {
    this.#timer?.cancel();
    this.#timer =
      moment === Infinity ? undefined : this.#clock.after(Math.max(0, moment - this.#clock.monotonic()), this.#ring);
    // A wait goes on over turns of the loop: to end it with every job that finishes would cost a round trip each.
    if (idle && this.#waiting === undefined) void this.#wait();
  }

  /** Ends the wait: a worker that can take no job must not swallow a hint that would wake another one. */
  pause(): void {
    this.#waiting?.abort();
    this.#waiting = undefined;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  /** Ends the wait for good, so that the store takes back what it has handed to it. False: nothing was waited with. */
  async end(): Promise<boolean> {
    this.pause();
    const waiter = this.#waiter;
    this.#waiter = undefined;
    await waiter?.close();
    return waiter !== undefined;
  }

  async #wait(): Promise<void> {
    const waiting = new AbortController();
    this.#waiting = waiting;
    try {
      this.#waiter ??= this.#connection.waiter(this.#queues);
      await this.#waiter.wait(this.#seconds, waiting.signal);
    } catch {
      // The reserve that follows meets the same trouble and tells it; at once, it would be asked without end.
      await new Promise<void>((resolve) => void this.#clock.after(this.#pause * 1000, resolve));
    }
    if (waiting.signal.aborted) return;
    this.#waiting = undefined;
    this.#woken = true;
    this.#ring();
  }
}

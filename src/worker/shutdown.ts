/** The phases of a worker's end after `stop()`, each with a deadline: finish, abort, write what is left, give up. */
import type { Clock, Seconds, Timer } from '../base/clock';

/** For a handler to come back after its signal has aborted. */
export const ABORT_GRACE: Seconds = 0.5;
/** For the store to take the last outcomes. */
const SETTLE_GRACE: Seconds = 5;

export class Shutdown {
  readonly #grace: Seconds;
  readonly #clock: Clock;
  readonly #interrupt: () => void;
  readonly #timers: Timer[] = [];
  #phase: 'waiting' | 'begun' | 'over' = 'waiting';
  #end: () => void = () => undefined;

  /** `interrupt` is called when the grace is over: to abort what still runs. */
  constructor(grace: Seconds, clock: Clock, interrupt: () => void) {
    this.#grace = grace;
    this.#clock = clock;
    this.#interrupt = interrupt;
  }

  get isOver(): boolean {
    return this.#phase === 'over';
  }

  /** `busy`: jobs run, which get the grace; without any, only the last outcomes are waited for. */
  begin(busy: boolean): void {
    if (this.#phase !== 'waiting') return;
    this.#phase = 'begun';
    const finish = busy ? this.#grace : 0;
    this.#after(finish, this.#interrupt);
    this.#after(finish + ABORT_GRACE + SETTLE_GRACE, () => {
      this.#phase = 'over';
      this.#end();
    });
  }

  /**
   * Resolves with `step`, or when the last deadline has passed; one step at a time. No `Promise.race`: on a promise that
   * lives as long as the worker, each of its losers would be kept.
   */
  within(step: Promise<void>): Promise<void> {
    if (this.#phase === 'over') return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#end = resolve;
      step.then(resolve, reject);
    });
  }

  /** Leaves no timer behind; a `begin` that comes later does nothing. */
  close(): void {
    this.#phase = 'over';
    for (const timer of this.#timers) timer.cancel();
  }

  #after(seconds: Seconds, enter: () => void): void {
    this.#timers.push(this.#clock.after(seconds * 1000, enter));
  }
}

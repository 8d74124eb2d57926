/** The phases of a worker's end after `stop()`, each with a deadline: finish, abort, write what is left, give up. */
import type { Clock, Seconds, Timer } from '../clock/clock';
import { WorkerStoppingError } from './errors';
import type { RunningJob } from './running-job';

/** For a handler to come back after its signal has aborted. */
const ABORT_GRACE: Seconds = 0.5;
/** For the store to take the last outcomes. */
const SETTLE_GRACE: Seconds = 5;

export class Shutdown {
  readonly #grace: Seconds;
  readonly #clock: Clock;
  readonly #ring: () => void;
  readonly #timers: Timer[] = [];
  #phase: 'waiting' | 'finish' | 'abort' | 'over' = 'waiting';
  #end: () => void = () => undefined;

  constructor(grace: Seconds, clock: Clock, ring: () => void) {
    this.#grace = grace;
    this.#clock = clock;
    this.#ring = ring;
  }

  get phase(): 'waiting' | 'finish' | 'abort' | 'over' {
    return this.#phase;
  }

  begin(): void {
    if (this.#phase !== 'waiting') return;
    this.#phase = 'finish';
    this.#after(this.#grace, () => {
      this.#phase = 'abort';
    });
    this.#after(this.#grace + ABORT_GRACE + SETTLE_GRACE, () => {
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

  interrupt(job: RunningJob): void {
    job.abort(new WorkerStoppingError(job.name, job.id), ABORT_GRACE);
  }

  /** Leaves no timer behind; a `begin` that comes later does nothing. */
  close(): void {
    this.#phase = 'over';
    for (const timer of this.#timers) timer.cancel();
  }

  #after(seconds: Seconds, enter: () => void): void {
    const timer = this.#clock.after(seconds * 1000, () => {
      enter();
      this.#ring();
    });
    this.#timers.push(timer);
  }
}

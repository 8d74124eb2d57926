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

  /** Resolves when the last deadline has passed. */
  readonly over: Promise<void>;

  constructor(grace: Seconds, clock: Clock, ring: () => void) {
    this.#grace = grace;
    this.#clock = clock;
    this.#ring = ring;
    this.over = new Promise((resolve) => {
      this.#end = resolve;
    });
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

/**
 * The open runs of a worker, and the slots that they hold. Their outcomes go to the settler.
 *
 * A slot is also held during the rest after a run, and by a handler that was given up but has not returned: a handler cannot
 * be ended from outside. If all slots are held like that, the worker is stuck.
 */
import { DenseSet } from '../base/collections';
import type { Milliseconds } from '../base/clock';
import { WorkerStoppingError } from './errors';
import { logStubborn, logStuck } from './job-log';
import { isForOthers, Finished, type Outcome } from './outcome';
import { ABORT_GRACE, type Emptiness } from './stop';
import type { Executor } from './run';
import type { Settler } from './settler';
import type { WorkerSettings } from './worker-options';
import type { RunningJob } from './running-job';
import { Suspect } from './suspect';

interface RunsParts {
  readonly executor: Executor;
  readonly settler: Settler;
  readonly emptiness: Emptiness | undefined;
  /** Wakes the loop: a slot is free. */
  readonly wake: () => void;
}

/** The public numbers are for the loop to read; only `Runs` writes them. */
export class Runs {
  /** How many runs were started in all. */
  started = 0;
  /** Slots in use. */
  busy = 0;
  /** Runs without an outcome. */
  readonly open = new DenseSet<RunningJob>();

  readonly #settings: WorkerSettings;
  readonly #parts: RunsParts;
  /** Undefined until a job comes on its last chance. */
  #suspect: Suspect | undefined;
  /** Jobs whose handlers were given up, with the moments at which they began. */
  readonly #givenUp = new Map<RunningJob, Milliseconds>();
  #isEnding = false;

  constructor(settings: WorkerSettings, parts: RunsParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** Jobs whose handlers run. */
  get running(): readonly RunningJob[] {
    return [...this.open].filter(({ handler }) => handler === 'running');
  }

  /** How many jobs may come at once: none while one runs apart from all others or is about to. */
  mostAtOnce(): number {
    return this.#suspect?.mostAtOnce ?? Infinity;
  }

  /** The job on its last chance that waits to run alone. */
  get waiting(): RunningJob | undefined {
    return this.#suspect?.waiting;
  }

  /** Starts the jobs of one reserve. Of those on their last chance, keeps the first. True if others went back to its queue. */
  take(jobs: readonly RunningJob[]): boolean {
    const { executor } = this.#parts;
    let last: RunningJob[] | undefined;
    for (const job of jobs) {
      if (job.reservation.counters.crashes > 0 && executor.isLastChance(job)) (last ??= []).push(job);
      else this.#run(job);
    }
    if (last !== undefined) this.#suspect ??= this.#newSuspect();
    return this.#suspect?.take(last ?? [], this.open.size) ?? false;
  }

  /** Starts the waiting job, if there is one. To be called once everything that ran beside it is settled. */
  startHeld(): boolean {
    return this.#suspect?.startAlone() ?? false;
  }

  /** No more jobs are started. */
  end(): void {
    this.#isEnding = true;
    this.#suspect?.letGo();
  }

  /** The worker stops: a job that cannot finish within the grace may save its progress. */
  stop(): void {
    for (const job of this.open) job.stop(new WorkerStoppingError(job.name, job.id));
  }

  /** The worker stops and waits no longer. */
  interrupt(): void {
    for (const job of this.open) job.abort(new WorkerStoppingError(job.name, job.id), ABORT_GRACE);
    this.#parts.executor.hasten();
  }

  /** Whether each slot is held by a handler that was given up. */
  areStuck(): boolean {
    return this.#givenUp.size >= this.#settings.options.concurrency;
  }

  #run(job: RunningJob): void {
    this.started += 1;
    this.busy += 1;
    this.open.add(job);
    void this.#parts.executor.run(job).then((outcome) => this.#ended(job, outcome));
  }

  #ended(job: RunningJob, outcome: Outcome): void {
    this.open.delete(job);
    this.#suspect?.ended(job);
    if (this.#settings.options.drain && isForOthers(outcome)) this.#parts.emptiness!.leave(job);
    if (job.handler === 'running') this.#giveUp(job);
    else this.#leaveSlot();
    this.#parts.settler.add(new Finished(job, outcome));
  }

  // The outcome was recorded without the handler, which still runs.
  #giveUp(job: RunningJob): void {
    const { application, process } = this.#settings;
    const { clock, logger } = application;
    this.#givenUp.set(job, job.startedAt);
    job.onLateReturn = () => {
      this.#givenUp.delete(job);
      this.#leaveSlot();
    };
    // A worker that ends needs no slots, and the line about the outcome says enough.
    if (this.#isEnding) return;
    logStubborn(logger, job);
    if (!this.areStuck()) return;
    const now = clock.monotonic();
    const ran = new Map(Array.from(this.#givenUp, ([one, since]) => [one, now - since]));
    logStuck(logger, ran, process.endsProcess === true);
  }

  #leaveSlot(): void {
    const { application, options } = this.#settings;
    if (options.rest === 0) {
      this.busy -= 1;
      return this.#parts.wake();
    }
    application.clock.after(options.rest * 1000, () => {
      this.busy -= 1;
      this.#parts.wake();
    });
  }

  #newSuspect(): Suspect {
    return new Suspect(this.#settings, {
      start: (job) => this.#run(job),
      giveBack: (job, outcome) => this.#parts.settler.giveBack(job, outcome),
      ring: this.#parts.wake,
    });
  }
}

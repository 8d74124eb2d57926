/**
 * The runs of a worker, from their start until the store has taken their outcomes, and the slots that they hold.
 *
 * A slot is also held during the rest after a run, and by a handler that was given up but has not returned: a handler cannot
 * be ended from outside. If all slots are held like that, the worker is stuck.
 */
import { DenseSet, endOfPage } from '../base/collections';
import type { Milliseconds } from '../base/clock';
import { callerOf } from '../container/scope';
import { glimpseOf } from '../payload/counters';
import { WorkerStoppingError } from './errors';
import { logStubborn, logStuck } from './job-log';
import { isForOthers, unstarted } from './outcome';
import { ABORT_GRACE, type Emptiness, type Stop } from './stop';
import type { Executor } from './run';
import type { LeaseKeeper } from './lease/keeper';
import type { WorkerSettings } from './settings';
import type { Outcome, RunningJob } from './running-job';
import { Suspect } from './suspect';

/**
 * A run that has ended and waits to be settled.
 *
 * A class, not an object literal: V8 soon allocates literals that mostly survive directly in the old generation, where each
 * keeps its job alive until a full collection.
 */
export class Finished {
  readonly job: RunningJob;
  readonly outcome: Outcome;

  constructor(job: RunningJob, outcome: Outcome) {
    this.job = job;
    this.outcome = outcome;
  }
}

interface RunsParts {
  readonly executor: Executor;
  readonly leases: LeaseKeeper;
  readonly stopping: Stop;
  readonly emptiness: Emptiness | undefined;
  /** Wakes the loop: a run has ended, or a slot is free. */
  readonly bell: { readonly ring: () => void; readonly wake: () => void };
}

/** The public numbers are for the loop to read; only `Runs` writes them. */
export class Runs {
  /** How many runs were started in all. */
  started = 0;
  /** Slots in use. */
  busy = 0;
  /** Runs with an outcome that is not on its way yet. */
  readonly ended: Finished[] = [];
  /** Outcomes on their way. */
  settling = 0;
  /** How many jobs may come at once. Jobs that crashed together come back together, and all but one would be given back. */
  mostAtOnce = Infinity;
  /** Runs without an outcome. */
  readonly open = new DenseSet<RunningJob>();

  readonly #settings: WorkerSettings;
  readonly #parts: RunsParts;
  /** Undefined until a job comes on its last chance. */
  #suspect: Suspect | undefined;
  /** Jobs whose handlers were given up, with the moments at which they began. */
  readonly #givenUp = new Map<RunningJob, Milliseconds>();
  #isStuckTold = false;

  constructor(settings: WorkerSettings, parts: RunsParts) {
    this.#settings = settings;
    this.#parts = parts;
  }

  /** Jobs whose handlers run. */
  get running(): readonly RunningJob[] {
    return [...this.open].filter(({ handler }) => handler === 'running');
  }

  /** Whether one of the jobs runs the code that asks. */
  get isCaller(): boolean {
    const caller = callerOf();
    return [...this.open].some((job) => job === caller);
  }

  /** Whether more jobs may come: none while one runs apart from all others or is about to. */
  takesMore(): boolean {
    return this.#suspect === undefined || this.#suspect.takesMore;
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
    if (last === undefined && this.#suspect === undefined) return false;
    const suspect = (this.#suspect ??= this.#newSuspect());
    const back = last?.filter((job) => !suspect.take(job, this.open.size)) ?? [];
    this.mostAtOnce = last === undefined && suspect.takesMore ? Infinity : 1;
    for (const job of back) this.giveBack(job);
    suspect.tell(this.open.size);
    return back.length > 0;
  }

  /** Starts the waiting job. To be called once everything that ran beside it is settled. */
  startHeld(): void {
    this.#suspect?.startAlone();
  }

  giveHeldBack(): void {
    const job = this.#suspect?.letGo();
    if (job !== undefined) this.giveBack(job);
  }

  /** Back to its queue without having run; by default to the head. */
  giveBack(job: RunningJob, outcome = unstarted(job)): void {
    // The payload is not parsed: it may be what killed the workers before.
    if (job.envelope === undefined) job.glimpse = glimpseOf(job.reservation.payload);
    job.endedAs = 'released';
    job.startedAt = this.#settings.application.clock.monotonic();
    this.ended.push(new Finished(job, outcome));
  }

  /** Takes up to `most` outcomes for one call to the store: they are on their way from here on. */
  depart(most: number): readonly Finished[] {
    const page = this.ended.splice(0, endOfPage(this.ended, textOf, 0, most));
    this.settling += page.length;
    for (const [index, { job, outcome }] of page.entries()) {
      job.isFinal = true;
      // An error turned up that the handler had left behind.
      if (job.stray !== undefined && outcome.error === undefined)
        page[index] = new Finished(job, this.#parts.executor.judge(job));
    }
    return page;
  }

  /** The call has ended. `taken` is false if the outcomes have to be settled again. */
  arrive(page: readonly Finished[], taken: boolean): void {
    this.settling -= page.length;
    if (!taken) this.ended.unshift(...page);
  }

  /** The store did not take these outcomes after all. */
  takeBack(finished: readonly Finished[]): void {
    this.ended.push(...finished);
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

  areStuck(): boolean {
    return this.#givenUp.size >= this.#settings.options.concurrency;
  }

  /**
   * If all slots are stuck, logs once which jobs hold them. The result is a reason to end if another process follows this
   * one.
   */
  stuck(): 'stuck' | undefined {
    if (this.#givenUp.size < this.#settings.options.concurrency) return undefined;
    const { application, process } = this.#settings;
    const { clock, logger } = application;
    // Somebody replaces a process that ends.
    const { endsProcess = false } = process;
    if (!this.#isStuckTold) {
      const now = clock.monotonic();
      logStuck(logger, new Map(Array.from(this.#givenUp, ([job, since]) => [job, now - since])), endsProcess);
    }
    this.#isStuckTold = true;
    return endsProcess ? 'stuck' : undefined;
  }

  #run(job: RunningJob): void {
    this.started += 1;
    this.busy += 1;
    this.open.add(job);
    void this.#parts.executor.run(job).then((outcome) => this.#ended(job, outcome));
  }

  #ended(job: RunningJob, outcome: Outcome): void {
    const { application, options } = this.#settings;
    const { stopping, emptiness, bell } = this.#parts;
    this.open.delete(job);
    this.#suspect?.ended(job);
    this.ended.push(new Finished(job, outcome));
    if (options.drain && isForOthers(outcome)) emptiness!.leave(job);
    if (job.handler === 'running') this.#giveUp(job);
    else this.#leaveSlot();
    // A worker that ends needs no slots, and the line about the outcome says enough.
    if (job.handler === 'running' && !stopping.isEnding()) logStubborn(application.logger, job);
    bell.ring();
  }

  // The outcome was recorded without the handler, which still runs.
  #giveUp(job: RunningJob): void {
    this.#givenUp.set(job, job.startedAt);
    job.onLateReturn = () => {
      this.#givenUp.delete(job);
      this.#isStuckTold = false;
      this.#leaveSlot();
    };
  }

  #leaveSlot(): void {
    const { application, options } = this.#settings;
    if (options.rest === 0) {
      this.busy -= 1;
      return this.#parts.bell.wake();
    }
    application.clock.after(options.rest * 1000, () => {
      this.busy -= 1;
      this.#parts.bell.wake();
    });
  }

  #newSuspect(): Suspect {
    return new Suspect(this.#settings, {
      start: (job) => this.#run(job),
      end: (job, outcome) => this.giveBack(job, outcome),
      ring: this.#parts.bell.wake,
    });
  }
}

/** Bytes that travel in addition to its token. */
const textOf = ({ outcome: { settlement }, job: { reservation } }: Finished): number =>
  settlement.outcome === 'failed' ? reservation.payload.length + settlement.failure.exception.length : 0;

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
import { ABORT_GRACE, type Emptiness, type Stopping } from './stop';
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
  /** How long it ran. */
  readonly took: Milliseconds;

  constructor(job: RunningJob, outcome: Outcome, took: Milliseconds) {
    this.job = job;
    this.outcome = outcome;
    this.took = took;
  }

  /** The same run, with another outcome. */
  endingAs(outcome: Outcome): Finished {
    return new Finished(this.job, outcome, this.took);
  }
}

interface RunsParts {
  readonly executor: Executor;
  readonly leases: LeaseKeeper;
  readonly stopping: Stopping;
  readonly emptiness: Emptiness | undefined;
  /** Wakes the loop: a run has ended, or a slot is free. */
  readonly bell: { readonly ring: () => void; readonly wake: () => void };
}

export class Runs {
  readonly #settings: WorkerSettings;
  readonly #parts: RunsParts;
  readonly #open = new DenseSet<RunningJob>();
  readonly #suspect: Suspect;
  #mostAtOnce = Infinity;
  #ended: Finished[] = [];
  #started = 0;
  #settling = 0;
  #busy = 0;
  /** Jobs whose handlers were given up, with the moments at which they began. */
  readonly #givenUp = new Map<RunningJob, Milliseconds>();
  #isStuckTold = false;

  constructor(settings: WorkerSettings, parts: RunsParts) {
    this.#settings = settings;
    this.#parts = parts;
    this.#suspect = new Suspect(settings, {
      start: (job) => this.#start(job),
      end: (job, outcome) => this.giveBack(job, outcome),
      ring: parts.bell.wake,
    });
  }

  /** How many runs were started in all. */
  get started(): number {
    return this.#started;
  }

  /** Runs without an outcome. */
  get open(): number {
    return this.#open.size;
  }

  /** Runs with an outcome that is not on its way yet. */
  get ended(): number {
    return this.#ended.length;
  }

  /** All runs that have to be settled yet. */
  get size(): number {
    return this.#open.size + this.#ended.length + this.#settling;
  }

  /** Slots in use. */
  get busy(): number {
    return this.#busy;
  }

  /** Jobs whose handlers run. */
  get running(): readonly RunningJob[] {
    return [...this.#open].filter(({ handler }) => handler === 'running');
  }

  /** Whether one of the jobs runs the code that asks. */
  get isCaller(): boolean {
    const caller = callerOf();
    return [...this.#open].some((job) => job === caller);
  }

  /** Whether more jobs may come: none while one runs apart from all others or is about to. */
  get takesMore(): boolean {
    return this.#suspect.takesMore;
  }

  /** The job on its last chance that waits to run alone. */
  get waiting(): RunningJob | undefined {
    return this.#suspect.waiting;
  }

  /** How many jobs may come at once. Jobs that crashed together come back together, and all but one would be given back. */
  get mostAtOnce(): number {
    return this.#mostAtOnce;
  }

  /** Starts the jobs of one reserve. Of those on their last chance, keeps the first. True if others went back to its queue. */
  take(jobs: readonly RunningJob[]): boolean {
    const last = jobs.filter((job) => this.#parts.executor.isLastChance(job));
    for (const job of jobs) if (!last.includes(job)) this.#start(job);
    const back = last.filter((job) => !this.#suspect.take(job, this.#open.size));
    this.#mostAtOnce = last.length === 0 && this.takesMore ? Infinity : 1;
    for (const job of back) this.giveBack(job);
    this.#suspect.tell(this.#open.size);
    return back.length > 0;
  }

  /** Starts the waiting job. To be called once everything that ran beside it is settled. */
  startHeld(): void {
    this.#suspect.startAlone();
  }

  giveHeldBack(): void {
    const job = this.#suspect.letGo();
    if (job !== undefined) this.giveBack(job);
  }

  /** Back to its queue without having run; by default to the head. */
  giveBack(job: RunningJob, outcome = unstarted(job)): void {
    // The payload is not parsed: it may be what killed the workers before.
    if (job.envelope === undefined) job.glimpse = glimpseOf(job.reservation.payload);
    job.close('released');
    job.startedAt = this.#settings.application.clock.monotonic();
    this.#ended.push(new Finished(job, outcome, 0));
  }

  /** Takes up to `most` outcomes for one call to the store: they are on their way from here on. */
  depart(most: number): readonly Finished[] {
    const page = this.#ended.splice(0, endOfPage(this.#ended, textOf, 0, most));
    this.#settling += page.length;
    return page.map((finished) => this.#judged(finished));
  }

  /** The call has ended. `taken` is false if the outcomes have to be settled again. */
  arrive(page: readonly Finished[], taken: boolean): void {
    this.#settling -= page.length;
    if (!taken) this.#ended.unshift(...page);
  }

  /** The store did not take these outcomes after all. */
  takeBack(finished: readonly Finished[]): void {
    this.#ended.push(...finished);
  }

  /** The worker stops: a job that cannot finish within the grace may save its progress. */
  stop(): void {
    for (const job of this.#open) job.stop(new WorkerStoppingError(job.name, job.id));
  }

  /** The worker stops and waits no longer. */
  interrupt(): void {
    for (const job of this.#open) job.abort(new WorkerStoppingError(job.name, job.id), ABORT_GRACE);
    this.#parts.executor.hasten();
  }

  get areStuck(): boolean {
    return this.#givenUp.size >= this.#settings.options.concurrency;
  }

  /**
   * If all slots are stuck, logs once which jobs hold them. The result is a reason to end if another process follows this
   * one.
   */
  stuck(): 'stuck' | undefined {
    if (!this.areStuck) return undefined;
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

  #start(job: RunningJob): void {
    const { clock } = this.#settings.application;
    const { executor, leases } = this.#parts;
    this.#started += 1;
    this.#busy += 1;
    this.#open.add(job);
    const startedAt = (job.startedAt = clock.monotonic());
    executor.start(job, (outcome) => {
      this.#open.delete(job);
      leases.ended(job, outcome);
      this.#suspect.ended(job);
      this.#ended.push(new Finished(job, outcome, clock.monotonic() - startedAt));
      if (job.handler === 'running') this.#giveUp(job, startedAt);
      else this.#leaveSlot();
      this.#tellEnd(job, outcome);
    });
  }

  #tellEnd(job: RunningJob, outcome: Outcome): void {
    const { application, options } = this.#settings;
    const { emptiness, stopping, bell } = this.#parts;
    if (options.drain && isForOthers(outcome)) emptiness!.leave(job);
    // A worker that ends needs no slots, and the line about the outcome says enough.
    if (job.handler === 'running' && !stopping.isEnding) logStubborn(application.logger, job);
    bell.ring();
  }

  // The outcome was recorded without the handler, which still runs.
  #giveUp(job: RunningJob, startedAt: Milliseconds): void {
    this.#givenUp.set(job, startedAt);
    job.onLateReturn = () => {
      this.#givenUp.delete(job);
      this.#isStuckTold = false;
      this.#leaveSlot();
    };
  }

  #leaveSlot(): void {
    const { application, options } = this.#settings;
    const leave = (): void => {
      this.#busy -= 1;
      this.#parts.bell.wake();
    };
    if (options.rest === 0) leave();
    else application.clock.after(options.rest * 1000, leave);
  }

  // The new outcome if an error turned up that the handler had left behind.
  #judged(finished: Finished): Finished {
    const { job, outcome } = finished;
    job.isFinal = true;
    if (job.stray === undefined || outcome.error !== undefined) return finished;
    const judged = this.#parts.executor.judge(job);
    this.#parts.leases.ended(job, judged);
    return finished.endingAs(judged);
  }
}

/** Bytes that travel in addition to its token. */
const textOf = ({ outcome: { settlement }, job: { reservation } }: Finished): number =>
  settlement.outcome === 'failed' ? reservation.payload.length + settlement.failure.exception.length : 0;

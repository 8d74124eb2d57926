/** The runs of a worker: those without an outcome, those that have one, and those whose outcome is on its way to the store. */
import { endOfTurn, type Clock } from '../base/clock';
import { callerOf } from '../container/scope';
import { glimpseOf } from '../payload/glimpse';
import { pagesOf } from '../base/pages';
import { WorkerStoppingError } from './errors';
import type { Executor } from './executor';
import type { LastChance } from './last-chance';
import type { LeaseKeeper } from './lease/keeper';
import { type Outcome, unstarted } from './outcome';
import { Roster } from './roster';
import type { RunningJob } from './running-job';
import type { Finished } from './settler';
import { ABORT_GRACE } from './shutdown';
import type { Slots } from './slots';

export interface RunsSettings {
  readonly executor: Executor;
  readonly slots: Slots;
  readonly leases: LeaseKeeper;
  readonly lastChance: LastChance;
  readonly clock: Clock;
  /** Called for each that has an outcome; its handler may go on all the same. */
  readonly ended: (job: RunningJob, outcome: Outcome) => void;
}

export class Runs {
  readonly #settings: RunsSettings;
  readonly #open = new Roster<RunningJob>();
  #ended: Finished[] = [];
  #settling: readonly Finished[] = [];
  #areFresh = false;

  constructor(settings: RunsSettings) {
    this.#settings = settings;
  }

  /** How many have no outcome. */
  get open(): number {
    return this.#open.size;
  }

  /** How many have one that is not on its way yet. */
  get ended(): number {
    return this.#ended.length;
  }

  get areSettling(): boolean {
    return this.#settling.length > 0;
  }

  /** All of them: each has to be settled. */
  get size(): number {
    return this.#open.size + this.#ended.length + this.#settling.length;
  }

  /** Those whose handlers run. */
  get running(): readonly RunningJob[] {
    return [...this.#open].filter(({ handler }) => handler === 'running');
  }

  /** Whether one of them runs the code that asks. */
  get isCaller(): boolean {
    const caller = callerOf();
    return [...this.#open].some((job) => job === caller);
  }

  /** One has ended in this turn of the event loop: what it has left behind may still have it fail. */
  get areFresh(): boolean {
    return this.#areFresh;
  }

  async turnOver(): Promise<void> {
    await endOfTurn();
    this.#areFresh = false;
  }

  start(job: RunningJob): void {
    const { executor, slots, leases, lastChance, clock, ended } = this.#settings;
    slots.take();
    this.#open.add(job);
    const startedAt = clock.monotonic();
    executor.start(job, (outcome) => {
      this.#open.delete(job);
      leases.ended(job, outcome);
      lastChance.end(job);
      this.#areFresh = true;
      this.#ended.push({ job, outcome, took: clock.monotonic() - startedAt });
      if (job.handler === 'running') slots.giveUp(job, startedAt);
      else slots.leave();
      ended(job, outcome);
    });
  }

  /** Back to the head of its queue, without having run. */
  giveBack(job: RunningJob): void {
    // Not parsed: it is not alone, and may be the one that killed the workers before.
    if (job.envelope === undefined) job.glimpse = glimpseOf(job.reservation.payload);
    job.close('released');
    this.#ended.push({ job, outcome: unstarted(job), took: 0 });
  }

  /**
   * Of those that have an outcome, as many as one call takes: they are on their way from here on. Of two calls, the second
   * may be refused when the first has been carried out.
   */
  depart(): readonly Finished[] {
    const [page = []] = pagesOf(this.#ended, textOf);
    this.#ended.splice(0, page.length);
    this.#settling = page.map((finished) => this.#judged(finished));
    return this.#settling;
  }

  // Its handler came back, and then an error turned up that it had left behind.
  #judged(finished: Finished): Finished {
    const { job, outcome } = finished;
    job.isFinal = true;
    if (job.stray === undefined || outcome.error !== undefined) return finished;
    const judged = this.#settings.executor.judge(job);
    this.#settings.leases.ended(job, judged);
    return { ...finished, outcome: judged };
  }

  /** The store has answered, or not. `taken`: false: they are to be settled again. */
  arrive(taken: boolean): void {
    if (!taken) this.#ended.unshift(...this.#settling);
    this.#settling = [];
  }

  /** The store did not take them after all. */
  takeBack(finished: readonly Finished[]): void {
    this.#ended.push(...finished);
  }

  /** The worker is to stop: who would not be done within its grace may say how far it has come. */
  stop(): void {
    for (const job of this.#open) job.stop(new WorkerStoppingError(job.name, job.id));
  }

  /** The worker stops, and waits no longer. */
  interrupt(): void {
    for (const job of this.#open) job.abort(new WorkerStoppingError(job.name, job.id), ABORT_GRACE);
    this.#settings.executor.hasten();
  }
}

/** Bytes that travel beside its token. */
const textOf = ({ outcome: { settlement }, job: { reservation } }: Finished): number =>
  settlement.outcome === 'failed' ? reservation.payload.length + settlement.failure.exception.length : 0;

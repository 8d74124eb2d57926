/**
 * The one job of a worker that is on its last chance: its next crash would make it poison.
 *
 * A job that kills its process takes its neighbours with it, and a crash is counted for them too. So a suspect runs alone: that
 * shows which job is to blame, and no other is taken for poison. It waits ten seconds at most for its neighbours, and the worker
 * takes no job meanwhile. If they last longer, it goes back for half a minute, for free; the third time it runs beside them, but
 * never beside another suspect.
 *
 * A worker may die while it holds one, or before it gives one back. So each start is recorded first, with its reservation, and a
 * crash without one does not count.
 */
import type { Milliseconds, Seconds, Timer } from '../base/clock';
import { Recent } from '../base/collections';
import { keepSuspicion, lastCrashCounts, suspicionOf } from '../operations/listed-job';
import { glimpseOf } from '../payload/counters';
import { waitsToRunAlone } from './errors';
import { logBeside, logCrashExcused, logWaitsAlone } from './job-log';
import { crashExcused, mayBePoisonNext, releasedForFree } from './outcome';
import type { WorkerSettings } from './settings';
import type { Outcome, RunningJob } from './running-job';

/** How long its neighbours have to end. */
export const PATIENCE: Seconds = 10;
const PAUSE: Seconds = 30;
/** After this many pauses it runs beside others. */
const MOST_PAUSES = 2;
const MOST_KNOWN = 1000;

export interface SuspectActions {
  start(job: RunningJob): void;
  /** Ends a job that was not started. */
  end(job: RunningJob, outcome: Outcome): void;
  /** Makes the loop look: the worker takes jobs again. */
  ring(): void;
}

export class Suspect {
  readonly #settings: WorkerSettings;
  readonly #actions: SuspectActions;
  #job: RunningJob | undefined;
  #phase: 'waits' | 'starts' | 'alone' | 'beside' = 'waits';
  #isTold = false;
  #timer: Timer | undefined;
  /** The neighbours of a suspect have just outlasted its wait: until then, the next ones go back without one. */
  #busyUntil: Milliseconds = -Infinity;
  /** How often each went back. Where no records are kept, this worker knows only of its own times. */
  readonly #times = new Recent<string, { readonly crashes: number; readonly times: number }>(MOST_KNOWN);
  /** Writes of records, one after another. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(settings: WorkerSettings, actions: SuspectActions) {
    this.#settings = settings;
    this.#actions = actions;
  }

  /** Whether the worker may take jobs: none beside one that runs alone or waits for that. */
  get takesMore(): boolean {
    return this.#job === undefined || this.#phase === 'beside';
  }

  /** The job that waits. */
  get waiting(): RunningJob | undefined {
    return this.#phase === 'waits' || this.#phase === 'starts' ? this.#job : undefined;
  }

  /** Takes a job on its last chance. False if it has to go back at once, because there is another one. */
  take(job: RunningJob, neighbours: number): boolean {
    const { clock } = this.#settings.application;
    if (this.#job !== undefined && !this.takesMore) return false;
    // The payload is not parsed: it may be what killed the workers before.
    if (job.envelope === undefined) job.glimpse = glimpseOf(job.reservation.payload);
    if (this.#job !== undefined) this.#putOff(job);
    else if (neighbours > 0 && this.#timesOf(job) >= MOST_PAUSES) this.#startBeside(job, neighbours);
    else if (neighbours > 0 && clock.monotonic() < this.#busyUntil) this.#putOff(job);
    else this.#hold(job);
    return true;
  }

  /** Says that it waits, if it has to: others have started by now. */
  tell(neighbours: number): void {
    const job = this.#job;
    if (job === undefined || this.#phase !== 'waits' || this.#isTold || neighbours === 0) return;
    this.#isTold = true;
    logWaitsAlone(this.#settings.application.logger, job, neighbours, PATIENCE);
    void Promise.all([this.#isExcused(job), this.#known(job)]).then(([isExcused, times]) => {
      if (this.#job !== job || this.#phase !== 'waits') return;
      if (isExcused) this.#excuse(job);
      else if (times >= MOST_PAUSES) this.#startBeside(job, neighbours);
      else void this.#keep(job, times);
    });
  }

  /** To be called once everything that ran beside it is settled: a crash would count for that as well. */
  startAlone(): void {
    const job = this.waiting;
    if (job === undefined || this.#phase === 'starts') return;
    job.isApart = true;
    this.#start(job, 'alone');
  }

  /** The job that waits, which goes back because the worker stops. */
  letGo(): RunningJob | undefined {
    const job = this.waiting;
    if (job !== undefined) this.ended(job);
    return job;
  }

  ended(job: RunningJob): void {
    if (job !== this.#job) return;
    this.#timer?.cancel();
    this.#job = undefined;
    this.#phase = 'waits';
  }

  #hold(job: RunningJob): void {
    this.#job = job;
    this.#phase = 'waits';
    this.#isTold = false;
    const { clock } = this.#settings.application;
    this.#timer = clock.after(PATIENCE * 1000, () => {
      this.ended(job);
      this.#busyUntil = clock.monotonic() + PAUSE * 1000;
      this.#putOff(job);
      this.#actions.ring();
    });
  }

  // It is judged again, by the crashes of its own.
  #excuse(job: RunningJob): void {
    this.ended(job);
    logCrashExcused(this.#settings.application.logger, job);
    this.#actions.end(job, crashExcused(job));
    this.#actions.ring();
  }

  #startBeside(job: RunningJob, neighbours: number): void {
    logBeside(this.#settings.application.logger, job, neighbours);
    this.#start(job, 'beside');
  }

  #start(job: RunningJob, phase: 'alone' | 'beside'): void {
    this.#timer?.cancel();
    this.#job = job;
    this.#phase = 'starts';
    void this.#mayStart(job).then((mayStart) => {
      if (this.waiting !== job) return;
      if (!mayStart) return this.#excuse(job);
      this.#phase = phase;
      this.#actions.start(job);
      this.#actions.ring();
    });
  }

  /** Never rejects. */
  async #mayStart(job: RunningJob): Promise<boolean> {
    const mayStart = !(await this.#isExcused(job));
    if (mayStart) await this.#keep(job, 0, true);
    return mayStart;
  }

  #putOff(job: RunningJob): void {
    this.#actions.end(
      job,
      releasedForFree(job, PAUSE, waitsToRunAlone(job.name, job.id, job.reservation.counters.crashes)),
    );
    void Promise.all([this.#isExcused(job), this.#known(job)]).then(([isExcused, before]) => {
      const { crashes } = job.reservation.counters;
      const times = before + 1;
      this.#times.set(job.id, { crashes, times });
      // If it is excused, whoever takes it next has to find that out.
      if (!isExcused) void this.#keep(job, times);
    });
  }

  /** Whether it was on its last chance before, and its worker died without having started it. Never rejects. */
  async #isExcused({ id, reservation: { counters } }: RunningJob): Promise<boolean> {
    const { records, application } = this.#settings;
    const before = { ...counters, crashes: counters.crashes - 1 };
    if (records === undefined || before.crashes === 0 || !mayBePoisonNext(before, application.registry)) return false;
    return !(await lastCrashCounts(records, id, counters).catch(() => true));
  }

  /** How often it went back, as far as this worker knows. */
  #timesOf({ id, reservation }: RunningJob): number {
    const known = this.#times.get(id);
    return known?.crashes === reservation.counters.crashes ? known.times : 0;
  }

  /** The same, as far as anybody knows. Never rejects. */
  async #known(job: RunningJob): Promise<number> {
    const { records } = this.#settings;
    const kept = records && (await suspicionOf(records, job.id, job.reservation.counters).catch(() => undefined));
    return Math.max(this.#timesOf(job), kept?.times ?? 0);
  }

  // Never rejects. If it fails, the job waits once more, and is not shown as one that does; or the next crash is excused.
  #keep({ id, fence, reservation }: RunningJob, times: number, isStarted = false): Promise<unknown> {
    const { records } = this.#settings;
    const suspicion = { crashes: reservation.counters.crashes, fence, times, isStarted };
    if (records !== undefined)
      this.#writing = this.#writing.then(() => keepSuspicion(records, id, suspicion)).catch(() => undefined);
    return this.#writing;
  }
}

/**
 * The one job of a worker that is on its last chance: its next crash would make it poison.
 *
 * A job that kills its process takes its neighbours with it, and a crash is counted for them too. So a suspect runs alone: that
 * shows which job is to blame, and no other is taken for poison. It waits ten seconds at most for its neighbours, and the worker
 * takes no job meanwhile. If they last longer, it goes back for half a minute, for free; the third time it runs beside them, but
 * never beside another suspect.
 *
 * A worker may die while it holds one, or before it gives one back. So each start is recorded first, with its reservation. A crash
 * in another one does not count: always if it is on record that the job waited in it, else once.
 */
import type { Milliseconds, Seconds, Timer } from '../base/clock';
import { Recent } from '../base/collections';
import { isCrashExcused, keepSuspicion, suspicionOf } from '../operations/suspicion';
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
  /** Finds out whether the last crash of the job counts: once, however often somebody asks. */
  #excusing: Promise<boolean> | undefined;
  /** Writes of records, one after another. */
  #writing: Promise<void> = Promise.resolve();

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
    void Promise.all([this.#excuse(job), this.#known(job)]).then(([isExcused, times]) => {
      if (isExcused || this.#job !== job || this.#phase !== 'waits') return;
      if (times >= MOST_PAUSES) this.#startBeside(job, neighbours);
      else void this.#keep(job, times);
    });
  }

  /** To be called once everything that ran beside it is settled: a crash would count for that as well. False if none waits. */
  startAlone(): boolean {
    const job = this.waiting;
    if (job === undefined) return false;
    if (this.#phase === 'starts') return true;
    job.isApart = true;
    this.#start(job, 'alone');
    return true;
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
    this.#excusing = undefined;
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

  // It is taken again, with the crashes that count.
  #excuse(job: RunningJob): Promise<boolean> {
    this.#excusing ??= excuseOf(job, this.#settings, () => this.waiting === job).then((outcome) => {
      if (outcome === undefined) return false;
      this.ended(job);
      this.#actions.end(job, outcome);
      this.#actions.ring();
      return true;
    });
    return this.#excusing;
  }

  #startBeside(job: RunningJob, neighbours: number): void {
    logBeside(this.#settings.application.logger, job, neighbours);
    this.#start(job, 'beside');
  }

  #start(job: RunningJob, phase: 'alone' | 'beside'): void {
    const start = (): void => {
      if (this.#job !== job || this.#phase !== 'starts') return;
      this.#timer?.cancel();
      this.#phase = phase;
      this.#actions.start(job);
      this.#actions.ring();
    };
    this.#timer?.cancel();
    this.#job = job;
    this.#phase = 'starts';
    // Records that are silent do not hold it up.
    this.#timer = this.#settings.application.clock.after(PATIENCE * 1000, start);
    void this.#excuse(job).then(async (isExcused) => {
      if (isExcused || this.#job !== job) return;
      await this.#keep(job, 0, true);
      start();
    });
  }

  #putOff(job: RunningJob): void {
    this.#actions.end(
      job,
      releasedForFree(job, PAUSE, waitsToRunAlone(job.name, job.id, job.reservation.counters.crashes)),
    );
    void Promise.all([isExcused(job, this.#settings), this.#known(job)]).then(([mayBeExcused, before]) => {
      const { crashes } = job.reservation.counters;
      const times = before + 1;
      this.#times.set(job.id, { crashes, times });
      // If it is excused, whoever takes it next has to find that out.
      if (!mayBeExcused) void this.#keep(job, times);
    });
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

  // Never rejects. Without a record, the job waits once more, and is not shown as one that does; or its next crash is excused.
  #keep({ id, fence, reservation }: RunningJob, times: number, isStarted = false): Promise<void> {
    const { records } = this.#settings;
    const suspicion = { crashes: reservation.counters.crashes, fence, times, isStarted };
    this.#writing = this.#writing.then(() => records && keepSuspicion(records, id, suspicion)).catch(() => undefined);
    return this.#writing;
  }
}

type Recorded = Pick<WorkerSettings, 'application' | 'records'>;

/** Whether the worker that crashed last had not started it. Never rejects. */
async function isExcused({ id, reservation }: RunningJob, { application, records }: Recorded): Promise<boolean> {
  const { counters } = reservation;
  const before = { ...counters, crashes: counters.crashes - 1 };
  const wasLastChance = before.crashes > 0 && mayBePoisonNext(before, application.registry);
  return records !== undefined && isCrashExcused(records, id, counters, wasLastChance).catch(() => false);
}

/**
 * The outcome of a job whose last crash does not count. Undefined if it does, or if nobody can write down that it does not: it would
 * not count for ever. Never rejects.
 *
 * @param isOpen whether nothing else has ended or started the job meanwhile
 */
export async function excuseOf(
  job: RunningJob,
  { application, records }: Recorded,
  isOpen = () => true,
): Promise<Outcome | undefined> {
  if (records === undefined || !(await isExcused(job, { application, records }))) return undefined;
  const { id, fence, reservation } = job;
  const noted = { crashes: reservation.counters.crashes, fence, times: 0, isStarted: false };
  const isNoted = await keepSuspicion(records, id, noted).then(isOpen, () => false);
  if (!isNoted) return undefined;
  logCrashExcused(application.logger, job);
  return crashExcused(job);
}

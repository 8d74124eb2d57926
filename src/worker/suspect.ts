/**
 * The one job of a worker that is on its last chance: its next crash would make it poison.
 *
 * A job that kills its process takes its neighbours with it, and a crash is counted for them too. So a suspect runs alone: that
 * shows which job is to blame, and no other is taken for poison. It waits ten seconds at most for its neighbours, and the worker
 * takes no job meanwhile. If they last longer, it goes back for half a minute, for free; the third time it runs beside them, but
 * never beside another suspect.
 *
 * A worker may die while it holds one, or before it gives one back. So each start is recorded first, with its reservation. Before
 * a job fails as poison, a crash in another one is taken back: always if it is on record that the job waited in it, else once.
 */
import { within, type Milliseconds, type Seconds, type Timer } from '../base/clock';
import { Recent } from '../base/collections';
import { isCrashExcused, keepSuspicion, suspicionOf } from '../operations/suspicion';
import { waitsToRunAlone } from './errors';
import { logBeside, logCrashExcused, logWaitsAlone } from './job-log';
import { crashExcused, mayBePoisonNext, releasedForFree, type Outcome } from './outcome';
import type { Application } from '../connections/application';
import type { RecordStore } from '../connections/record-store';
import type { WorkerSettings } from './worker-options';
import type { RunningJob } from './running-job';

/** How long its neighbours have to end. */
const PATIENCE: Seconds = 10;
const PAUSE: Seconds = 30;
/** After this many pauses it runs beside others. */
const MOST_PAUSES = 2;
const MOST_KNOWN = 1000;

export interface SuspectActions {
  start(job: RunningJob): void;
  /** Gives back a job that was not started. */
  giveBack(job: RunningJob, outcome?: Outcome): void;
  /** Makes the loop look: the worker takes jobs again. */
  ring(): void;
}

export class Suspect {
  readonly #settings: WorkerSettings;
  readonly #actions: SuspectActions;
  #job: RunningJob | undefined;
  #phase: 'waits' | 'starts' | 'alone' | 'beside' = 'waits';
  #isTold = false;
  /** Jobs that crashed together come back together, and all but one would be given back. */
  #mostAtOnce = Infinity;
  #timer: Timer | undefined;
  /** The neighbours of a suspect have just outlasted its wait: until then, the next ones go back without one. */
  #busyUntil: Milliseconds = -Infinity;
  /** How often each went back. Where no records are kept, this worker knows only of its own times. */
  readonly #times = new Recent<string, { readonly crashes: number; readonly times: number }>(MOST_KNOWN);
  /** Writes of records, one after another. */
  #writing: Promise<void> = Promise.resolve();

  constructor(settings: WorkerSettings, actions: SuspectActions) {
    this.#settings = settings;
    this.#actions = actions;
  }

  /** How many jobs the worker may take at once: none beside one that runs alone or waits for that. */
  get mostAtOnce(): number {
    return this.#isInTheWay ? 0 : this.#mostAtOnce;
  }

  /** The job that waits. */
  get waiting(): RunningJob | undefined {
    return this.#phase === 'waits' || this.#phase === 'starts' ? this.#job : undefined;
  }

  /** Takes the jobs of a reserve that are on their last chance, and keeps the first. True if others went back to their queue. */
  take(jobs: readonly RunningJob[], neighbours: number): boolean {
    const back = jobs.filter((job) => !this.#take(job, neighbours));
    this.#mostAtOnce = jobs.length > 0 || this.#isInTheWay ? 1 : Infinity;
    for (const job of back) this.#actions.giveBack(job);
    this.#tell(neighbours);
    return back.length > 0;
  }

  get #isInTheWay(): boolean {
    return this.#job !== undefined && this.#phase !== 'beside';
  }

  /** False if it has to go back at once, because there is another one. */
  #take(job: RunningJob, neighbours: number): boolean {
    const { clock } = this.#settings.application;
    if (this.#isInTheWay) return false;
    if (this.#job !== undefined) this.#putOff(job);
    else if (neighbours > 0 && this.#timesOf(job) >= MOST_PAUSES) this.#startBeside(job, neighbours);
    else if (neighbours > 0 && clock.monotonic() < this.#busyUntil) this.#putOff(job);
    else this.#hold(job);
    return true;
  }

  /** Says that it waits, if it has to: others have started by now. */
  #tell(neighbours: number): void {
    const job = this.#job;
    if (job === undefined || this.#phase !== 'waits' || this.#isTold || neighbours === 0) return;
    this.#isTold = true;
    logWaitsAlone(this.#settings.application.logger, job, neighbours, PATIENCE);
    void this.#known(job).then((times) => {
      if (this.#job !== job || this.#phase !== 'waits') return;
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
    void this.#start(job, 'alone');
    return true;
  }

  /** The worker stops: a job that waits goes back. */
  letGo(): void {
    const job = this.waiting;
    if (job === undefined) return;
    this.ended(job);
    this.#actions.giveBack(job);
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

  #startBeside(job: RunningJob, neighbours: number): void {
    logBeside(this.#settings.application.logger, job, neighbours);
    void this.#start(job, 'beside');
  }

  async #start(job: RunningJob, phase: 'alone' | 'beside'): Promise<void> {
    this.#timer?.cancel();
    this.#job = job;
    this.#phase = 'starts';
    // Records that are silent do not hold it up.
    await within(this.#settings.application.clock, PATIENCE * 1000, this.#keep(job, 0, true), false).catch(
      () => undefined,
    );
    if (this.#job !== job) return;
    this.#phase = phase;
    this.#actions.start(job);
    this.#actions.ring();
  }

  #putOff(job: RunningJob): void {
    const { crashes } = job.reservation.counters;
    this.#actions.giveBack(job, releasedForFree(job, PAUSE, waitsToRunAlone(job.name, job.id, crashes)));
    void this.#known(job).then((before) => {
      const times = before + 1;
      this.#times.set(job.id, { crashes, times });
      void this.#keep(job, times);
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

/**
 * The outcome of a poison job whose last crash does not count, because the worker that crashed had not started it. Undefined if it
 * counts, or if nobody can write down that it does not: it would not count for ever. Never rejects.
 */
export async function excuseOf(
  job: RunningJob,
  application: Application,
  records: RecordStore | undefined,
): Promise<Outcome | undefined> {
  const { id, fence, reservation } = job;
  const { crashes } = reservation.counters;
  const before = { ...reservation.counters, crashes: crashes - 1 };
  const wasLastChance = before.crashes > 0 && mayBePoisonNext(before, application.registry);
  try {
    const isExcused = records !== undefined && (await isCrashExcused(records, id, reservation.counters, wasLastChance));
    if (!isExcused) return undefined;
    await keepSuspicion(records, id, { crashes, fence, times: 0, isStarted: false });
  } catch {
    return undefined;
  }
  logCrashExcused(application.logger, job);
  return crashExcused(job);
}

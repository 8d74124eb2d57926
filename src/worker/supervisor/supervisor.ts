/**
 * Keeps processes working: starts them, replaces those that die or have worked long enough, and ends them all.
 *
 * It knows no job and no store, so that nothing that blocks or kills a process affects it. Each process has a place. A
 * process that takes no more jobs leaves its place to the next one, and ends when its jobs have.
 */
import type { Clock, Milliseconds, Seconds, Random } from '../../base/clock';
import type { Logger } from '../../base/logger';
import { JobTotals, type JobCounts } from '../../operations/figures/job-counters';
import { Place, SupervisedProcess, type Child, type ProcessListener } from './supervised-process';
import type { StopReason } from '../stop';
import { BLOCKED, supervisorHealth, type SeenDeath, type SupervisorHealth } from './supervision';

/** A process that has to be replaced sooner would need it again and again: it gets the pause of one that died. */
const TOO_SOON: Milliseconds = 1000;

/** A process that ends for one of these reasons is replaced. */
const REPLACED: ReadonlySet<StopReason> = new Set(['memory', 'restart', 'stuck', 'uncaught', 'stopped'] as const);

/** Why a process ends: also what only its supervisor knows. */
export type ProcessEnd = StopReason | 'recycle' | 'changed';

/** Added to the log line about its memory in that case. */
const TOO_LITTLE = 'It has worked for less than a second: the limit is too low for it.';

const MOST_DEATHS = 100;

/** How to start a process. */
export interface ProcessOrder {
  /** The number of its place, from 1. */
  readonly number: number;
  /** Another process has worked before, and has announced what it works on. */
  readonly opened: boolean;
  /** A process has died at work: its jobs stay reserved until their leases end. */
  readonly afterCrash: boolean;
  /** Time after which its worker stops by itself; may be Infinity. */
  readonly maxTime: Seconds;
}

export interface SupervisorSettings {
  readonly processes: number;
  /** How long a process may take to end when it was told to stop. */
  readonly patience: Milliseconds;
  /** How long all of them work; may be Infinity. */
  readonly maxTime: Seconds;
  /** How long one process works; may be Infinity. */
  readonly recycle: Seconds;
  readonly clock: Clock;
  /** Absent: that of the system. */
  readonly random?: Random | undefined;
  readonly logger: Logger;
  /** The name of each reason in the log. */
  readonly reasons: Readonly<Record<ProcessEnd, string>>;
  readonly start: (order: ProcessOrder) => Child;
}

export class Supervisor {
  readonly #settings: SupervisorSettings;
  readonly #places: readonly Place[];
  readonly #endsAt: Milliseconds;
  readonly #codes: number[] = [];
  /** Includes the processes that have ended. */
  readonly #counts = new JobTotals();
  /** A process has reported. */
  #opened = false;
  /** A process has died at work. */
  #crashed = false;
  /** Those that no process was told of yet. */
  readonly #deaths: SeenDeath[] = [];
  /** Those that `replace()` ended. */
  readonly #outdated = new WeakSet<SupervisedProcess>();
  #stopping = false;
  #hurried = false;
  #resolve: (code: number) => void = () => undefined;

  constructor(settings: SupervisorSettings) {
    this.#settings = settings;
    this.#endsAt = settings.clock.monotonic() + settings.maxTime * 1000;
    this.#places = Array.from({ length: settings.processes }, (_, index) => new Place(index + 1, settings.random));
  }

  /**
   * Resolves when the last process has ended for good: with 0; with the code of the first process if it could not start; or
   * with the code of one that did not stop as it should, which is 70 if it had to be killed.
   */
  run(): Promise<number> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      // The others wait for the first: a mistake in the configuration is reported once, not by each of them.
      for (const place of this.#places.slice(0, 1)) this.#start(place);
    });
  }

  /** Passes a signal on to all processes, and starts no more. */
  stop(signal: NodeJS.Signals): void {
    this.#stopping = true;
    for (const { timer } of this.#places) timer?.cancel();
    for (const process of this.#alive) process.stop(signal, this.#settings.patience);
    this.#endIfLast();
  }

  /**
   * Replaces all processes, as if each had been told to stop: their jobs may finish within `patience`. Those that wait for another
   * try start at once.
   */
  replace(): void {
    if (this.#stopping) return;
    for (const place of this.#places) {
      if (place.current !== undefined) {
        this.#outdated.add(place.current);
        place.current.stop('SIGTERM', this.#settings.patience);
      } else if (!place.isDone && place.starts > 0) {
        place.timer?.cancel();
        this.#start(place);
      }
    }
  }

  /** After `stop()`: makes all processes end at once, with this code. */
  hasten(code: number): void {
    this.#hurried = true;
    for (const process of this.#alive) process.end(code);
  }

  get isStopping(): boolean {
    return this.#stopping;
  }

  get health(): SupervisorHealth {
    return supervisorHealth(this.#places, this.#stopping);
  }

  /** The counts of all processes, including those that ended: they never decrease. */
  get counts(): readonly JobCounts[] {
    return this.#counts.all;
  }

  get #alive(): SupervisedProcess[] {
    const processes = this.#places.flatMap(({ current, leaving }) => [current, leaving]);
    return processes.filter((process) => process !== undefined).filter(({ isOver }) => !isOver);
  }

  #start(place: Place): void {
    const { clock, logger, recycle, start } = this.#settings;
    const left = (this.#endsAt - clock.monotonic()) / 1000;
    place.isDone = left <= 0;
    if (place.isDone) return this.#endIfLast();
    place.starts += 1;
    try {
      const maxTime = Math.min(left, recycle);
      const child = start({ number: place.number, opened: this.#opened, afterCrash: this.#crashed, maxTime });
      const listener: ProcessListener = {
        heard: (process) => this.#heard(place, process),
        counted: (counts) => this.#counts.add(counts),
        over: (process) => this.#over(place, process),
      };
      const { name, facts } = (place.current = new SupervisedProcess(place.number, child, clock, listener));
      if (place.starts > 1 && child.pid !== undefined) logger.info(facts, `${name} started.`);
    } catch (error) {
      // The system has no memory for another process just now.
      this.#startLater(place, `Process ${place.number} could not be started: ${String(error)}`);
    }
  }

  #died({ pid, signal, code, jobs, health }: SupervisedProcess): void {
    this.#crashed = true;
    if (jobs.length === 0) return;
    this.#deaths.push({ name: health?.name, pid, signal, code, jobs, at: this.#settings.clock.now() });
    // If none can be started, nobody will ask either.
    if (this.#deaths.length > MOST_DEATHS) this.#deaths.shift();
  }

  #heard(place: Place, process: SupervisedProcess): void {
    if (this.#stopping) return;
    if (this.#deaths.length > 0) process.tell({ onqueue: 'deaths', deaths: this.#deaths.splice(0) });
    const isFirst = !this.#opened;
    this.#opened = true;
    if (isFirst) for (const other of this.#places.slice(1)) this.#start(other);
    if (process === place.current && this.#isReplaced(process.reason)) this.#relieve(place, process, process.reason);
  }

  #over(place: Place, process: SupervisedProcess): void {
    const reason = process.finished;
    if (this.#stopping) this.#stopped(process);
    else if (process === place.leaving) this.#leave(place, process);
    else if (this.#isReplaced(reason)) this.#relieve(place, process, reason);
    else if (reason !== undefined) this.#finish(place, process, reason);
    else if (!this.#opened && process.code !== undefined) this.#refuse(process.code);
    else {
      place.current = undefined;
      this.#died(process);
      this.#startLater(place, `${process.name} ${process.death}`, process);
    }
    this.#endIfLast();
  }

  #stopped(process: SupervisedProcess): void {
    const { logger } = this.#settings;
    const { name, facts, held, death, wasKilled } = process;
    const code = codeAtStop(process);
    this.#codes.push(code);
    if (wasKilled) {
      const cause =
        'its event loop is blocked, or the process was suspended. Its jobs run again when their leases end.';
      logger.error(facts, `${name} did not end when it was told to, and was killed${held}: ${cause}`);
    } else if (code !== 0 && !this.#hurried) logger.warn(facts, `${name} ${death}.`);
  }

  // It takes no more jobs, but its running jobs may take long: the next process starts beside it.
  #relieve(place: Place, process: SupervisedProcess, reason: StopReason): void {
    if (place.leaving !== undefined && !process.isOver) return;
    place.current = undefined;
    if (!process.isOver) place.leaving = process;
    const cause = reason === 'max-time' ? 'recycle' : this.#outdated.has(process) ? 'changed' : reason;
    const pause = this.#pauseBefore(place, process, reason);
    const { logger, reasons } = this.#settings;
    const facts = { ...process.facts, reason: cause };
    const sentence = `${process.name} ends: ${reasons[cause]}; ${startsIn(pause)}.`;
    if (reason === 'memory' && process.lived < TOO_SOON) logger.warn(facts, `${sentence} ${TOO_LITTLE}`);
    else logger.info(facts, sentence);
    this.#startAfter(pause, place);
  }

  #pauseBefore(place: Place, process: SupervisedProcess, reason: StopReason): Milliseconds {
    if (reason === 'uncaught') return place.nextPause(process.lived, process.hasWorked);
    return process.lived >= TOO_SOON ? 0 : place.nextPause(process.lived, false);
  }

  #leave(place: Place, process: SupervisedProcess): void {
    place.leaving = undefined;
    if (process.finished === undefined) {
      this.#died(process);
      this.#settings.logger.warn(process.facts, `${process.name} ${process.death}.`);
    }
    // Its successor may have been waiting to leave as well.
    const { current } = place;
    if (current !== undefined && this.#isReplaced(current.reason)) this.#relieve(place, current, current.reason);
  }

  #finish(place: Place, process: SupervisedProcess, reason: StopReason): void {
    place.isDone = true;
    this.#codes.push(process.exitCode);
    const sentence = `${process.name} has ended: ${this.#settings.reasons[reason]}.`;
    this.#settings.logger.info({ ...process.facts, reason }, sentence);
  }

  // The first process could not start, and has said why. Another try would only repeat that.
  #refuse(code: number): void {
    this.#codes.push(code);
    for (const place of this.#places) place.isDone = true;
  }

  #startLater(place: Place, what: string, process?: SupervisedProcess): void {
    const pause = place.nextPause(process?.lived ?? 0, process?.hasWorked ?? false);
    const facts = process?.facts ?? { process: place.number };
    this.#settings.logger.warn(facts, `${what}; ${startsIn(pause)}.`);
    this.#startAfter(pause, place);
  }

  #startAfter(pause: Milliseconds, place: Place): void {
    if (pause === 0) this.#start(place);
    else place.timer = this.#settings.clock.after(pause, () => this.#start(place), true);
  }

  // A process that was told to stop by somebody else is replaced as well.
  #isReplaced(reason: StopReason | undefined): reason is StopReason {
    if (reason === 'max-time') return this.#settings.clock.monotonic() < this.#endsAt;
    return reason !== undefined && REPLACED.has(reason);
  }

  #endIfLast(): void {
    if (this.#alive.length > 0) return;
    if (this.#stopping || this.#places.every(({ isDone }) => isDone)) this.#resolve(Math.max(0, ...this.#codes));
  }
}

function startsIn(pause: Milliseconds): string {
  return `the next starts ${pause === 0 ? 'now' : `in ${Math.round(pause / 100) / 10} s`}`;
}

function codeAtStop(process: SupervisedProcess): number {
  if (process.wasKilled) return BLOCKED;
  // The signal came before it could listen for it, or it was about to be replaced.
  const { finished } = process;
  if (isStop(process.signal) || finished === 'memory' || finished === 'stuck' || finished === 'uncaught') return 0;
  return process.exitCode;
}

function isStop(signal: NodeJS.Signals | undefined): boolean {
  return signal === 'SIGTERM' || signal === 'SIGINT' || signal === 'SIGQUIT';
}

/** One supervised process: its latest report, how it is brought to its end, and how the log describes it. */
import type { EventEmitter } from 'node:events';
import { constants } from 'node:os';
import { pauseAfter, type Clock, type Milliseconds, type Timer, type Random } from '../../base/clock';
import type { JobCounts } from '../../operations/figures/job-counters';
import type { WorkerHealth } from '../health';
import type { StopReason } from '../stop';
import { BLOCKED, ownMessage, type DeathReport, type EndOrder, type HeldJob } from './supervision';

/**
 * How long a process may take after an order to end at once, and after SIGKILL: the system may be unable to end one that
 * waits for a disk.
 */
const HASTE: Milliseconds = 1000;

/** The part of a `ChildProcess` with a channel that we need. */
export interface Child extends EventEmitter {
  readonly pid?: number | undefined;
  readonly connected: boolean;
  kill(signal: NodeJS.Signals): boolean;
  send(message: EndOrder | DeathReport, told: (error: Error | null) => void): boolean;
}

export interface ProcessListener {
  heard(process: SupervisedProcess): void;
  counted(counts: readonly JobCounts[]): void;
  over(process: SupervisedProcess): void;
}

export class SupervisedProcess {
  /** Its latest report. Undefined while it starts. */
  health: WorkerHealth | undefined;
  /** The jobs that it ran at that time. If its event loop stood still: those that it holds responsible. */
  jobs: readonly HeldJob[] = [];
  /** It had to be killed because it did not stop when told to. */
  wasKilled = false;
  isOver = false;
  /** How it ended, once it has. */
  code: number | undefined;
  signal: NodeJS.Signals | undefined;
  /** Why it could not be started. */
  error: Error | undefined;
  /** The number of its place, from 1. */
  readonly #place: number;
  readonly #child: Child;
  readonly #clock: Clock;
  readonly #listener: ProcessListener;
  #isBlocked = false;
  #heardAt: Milliseconds;
  #begunAt: Milliseconds | undefined;
  #killAt: Milliseconds = Infinity;
  #killer: Timer | undefined;

  constructor(place: number, child: Child, clock: Clock, listener: ProcessListener) {
    this.#place = place;
    this.#child = child;
    this.#clock = clock;
    this.#listener = listener;
    this.#heardAt = clock.monotonic();
    child.on('message', (message) => this.#hear(message));
    child.on('error', (error: Error) => {
      // The error of a running process: a signal came too late.
      if (child.pid !== undefined) return;
      this.error = error;
      this.#end();
    });
    child.once('exit', (code: number | null, signal: NodeJS.Signals | null) => {
      this.code = code ?? undefined;
      this.signal = signal ?? undefined;
      // Its last messages may still be in the channel.
      if (!child.connected) this.#end();
    });
    child.once('disconnect', () => {
      if (this.code !== undefined || this.signal !== undefined) this.#end();
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Why it takes no more jobs. Undefined while it takes some, and if it died at work. */
  get reason(): StopReason | undefined {
    return this.health?.reason;
  }

  /** The reason, if its worker has stopped by itself. */
  get finished(): StopReason | undefined {
    return this.health?.state === 'stopped' ? this.reason : undefined;
  }

  /** How long it has worked. */
  get lived(): Milliseconds {
    return this.#begunAt === undefined ? 0 : this.#clock.monotonic() - this.#begunAt;
  }

  /** Whether it has taken jobs. */
  get hasWorked(): boolean {
    if (this.health === undefined) return false;
    return this.health.running > 0 || Object.values(this.health.outcomes).some((count: number) => count > 0);
  }

  /** Time since its last report or, while it starts, since its start. */
  get silence(): Milliseconds {
    return this.#clock.monotonic() - this.#heardAt;
  }

  /** Its exit code as a shell reports it, which has codes for signals too. */
  get exitCode(): number {
    return this.code ?? (this.signal === undefined ? 1 : 128 + constants.signals[this.signal]);
  }

  /** Its name in the log. */
  get name(): string {
    return this.pid === undefined ? `Process ${this.#place}` : `Process ${this.#place} (pid ${this.pid})`;
  }

  get facts(): object {
    const { pid, code, signal, jobs } = this;
    return { process: this.#place, pid, code, signal, ...(this.isOver && jobs.length > 0 && { jobs }) };
  }

  /** How it died, and which jobs it ran. */
  get death(): string {
    const { error, signal, code, jobs } = this;
    if (error !== undefined) return `could not be started: ${error.message}`;
    if (signal !== undefined) return `was ended by ${signal}${this.held}`;
    if (this.#isBlocked) return `was ended because ${jobs.map(nameOf).join(' or ')} blocked its event loop`;
    if (code === BLOCKED) return `was ended because a handler blocked its event loop${this.held}`;
    return `ended with code ${String(code)}${this.held}`;
  }

  /** The jobs that it ran, as far as it could still say. */
  get held(): string {
    if (this.jobs.length === 0) return '';
    const names = this.jobs.map(nameOf);
    const others = (this.health?.running ?? 0) - this.jobs.length;
    return ` while it ran ${names.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
  }

  /** Passes a signal on. A process that has not ended after `patience` is blocked or suspended, and is killed. */
  stop(signal: NodeJS.Signals, patience: Milliseconds): void {
    this.#child.kill(signal);
    this.#killAfter(patience);
  }

  /** Tells it of the deaths of others. */
  tell(report: DeathReport): void {
    if (this.#child.connected) this.#child.send(report, () => undefined);
  }

  /** Makes it end at once, with this code. */
  end(code: number): void {
    // A closed channel means that it is ending already.
    if (this.#child.connected) this.#child.send({ onqueue: 'end', code }, () => undefined);
    this.#killAfter(HASTE);
  }

  #killAfter(patience: Milliseconds): void {
    const at = this.#clock.monotonic() + patience;
    if (this.isOver || at >= this.#killAt) return;
    this.#killAt = at;
    this.#killer?.cancel();
    this.#killer = this.#clock.after(
      patience,
      () => {
        this.wasKilled = true;
        this.#child.kill('SIGKILL');
        this.#killer = this.#clock.after(HASTE, () => this.#end(), true);
      },
      true,
    );
  }

  #hear(given: unknown): void {
    const message = this.isOver ? undefined : ownMessage(given);
    if (message?.onqueue === 'blocked') {
      this.#isBlocked = true;
      this.jobs = message.jobs;
    }
    if (message?.onqueue !== 'health') return;
    this.health = message.health;
    this.jobs = message.jobs;
    this.#heardAt = this.#clock.monotonic();
    this.#begunAt ??= this.#heardAt;
    if (message.counted !== undefined) this.#listener.counted(message.counted);
    this.#listener.heard(this);
  }

  #end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#killer?.cancel();
    this.#listener.over(this);
  }
}

const nameOf = ({ job, id }: HeldJob): string => `${job} ${id}`;

const BACKOFF = { first: 500, longest: 30_000 };

/** A process that has worked for this long did not die of a failed start. */
const GROWN_UP: Milliseconds = 60_000;

/** A place that the supervisor keeps filled with one process, or with two while one relieves the other. */
export class Place {
  /** From 1. */
  readonly number: number;
  current: SupervisedProcess | undefined;
  /**
   * The previous process, which finishes its jobs. There is never a third: large processes with long jobs would fill the
   * memory.
   */
  leaving: SupervisedProcess | undefined;
  /** Runs until the next process starts. */
  timer: Timer | undefined;
  starts = 0;
  /** No process follows. */
  isDone = false;
  /** Processes in a row that died before they took a job. */
  #deaths = 0;
  readonly #random: Random | undefined;

  constructor(number: number, random: Random | undefined) {
    this.number = number;
    this.#random = random;
  }

  /**
   * The pause before a dead process is replaced. It grows while processes die before they took a job. Once a process took
   * some, they may have killed it, and the waiting jobs must not wait for that.
   */
  nextPause(lived: Milliseconds, hasWorked: boolean): Milliseconds {
    if (lived >= GROWN_UP || hasWorked) this.#deaths = 0;
    if (hasWorked) return 0;
    this.#deaths += 1;
    return pauseAfter(this.#deaths - 1, BACKOFF, this.#random);
  }
}

/** Decides when a worker stops and how long each phase of its end may take: finish, abort, write the rest, give up. */
import type { Clock, Milliseconds, Seconds, Timer } from '../base/clock';
import type { WorkerState } from './health';
import type { ResolvedWorkerOptions } from './worker-options';
import { readId } from '../payload/counters';
import type { PeekedJob } from '../connections/contract';
import type { Runs } from './runs';
import type { WorkerSettings } from './worker-options';

/**
 * Why `run()` returned: `stopped` by `stop()`; `empty` under `stopWhenEmpty` or `drain`, or under `once` if there was no
 * job; `once` after its one job; `restart` when all workers of the store were told to restart; `stuck`, only under the
 * command, when each slot is held by a job that was given up; `uncaught`, also only there, after an error that nobody
 * caught; the others when their limit was reached.
 */
export type StopReason =
  | 'stopped'
  | 'empty'
  | 'once'
  | 'max-jobs'
  | 'max-time'
  | 'memory'
  | 'restart'
  | 'stuck'
  | 'uncaught';

/** The worker ends because it has nothing more to do: running jobs may take their time. */
const RAN_OUT: readonly StopReason[] = ['empty', 'once', 'max-jobs'];

/** How long a handler may take to return after its signal aborts. */
export const ABORT_GRACE: Seconds = 0.5;
/** How long the store may take to take the last outcomes. */
const SETTLE_GRACE: Seconds = 5;

/** What a worker may take beyond its grace; it closes its leases last. Whoever waits for its end has to wait longer. */
export const WORKER_MARGIN: Seconds = ABORT_GRACE + SETTLE_GRACE + 2.5;

export class Stop {
  readonly #options: ResolvedWorkerOptions;
  readonly #clock: Clock;
  readonly #runs: Runs;
  readonly #ring: () => void;
  /** When `maxTime` has passed. */
  #endsAt: Milliseconds;
  readonly #timers: Timer[] = [];
  #phase: 'working' | 'ending' | 'over' = 'working';
  #giveUp: () => void = () => undefined;
  state: WorkerState = 'new';
  #requested: 'stopped' | 'uncaught' | 'restart' | undefined;

  /** @param ring wakes the loop: it has to end, or the last deadline has passed */
  constructor(options: ResolvedWorkerOptions, clock: Clock, runs: Runs, ring: () => void) {
    this.#options = options;
    this.#clock = clock;
    this.#runs = runs;
    this.#ring = ring;
    this.#endsAt = clock.monotonic() + options.maxTime * 1000;
  }

  /** The worker works. */
  start(): void {
    this.state = 'running';
    const left = this.#endsAt - this.#clock.monotonic();
    if (left === Infinity) return;
    // A call that is not answered would not wake the loop. A timer may fire a moment early.
    this.#after(left / 1000, () => {
      this.#endsAt = -Infinity;
      this.#ring();
    });
  }

  /** The first request wins: of `stop()`, of an uncaught error or of the store. That of the store leaves the jobs all their time. */
  request(reason: 'stopped' | 'uncaught' | 'restart'): void {
    this.#requested ??= reason;
    if (reason !== 'restart') {
      this.#runs.stop();
      this.begin(this.#runs.open.size > 0);
    }
    this.#ring();
  }

  /** No more jobs are started. */
  isEnding(): boolean {
    return this.state !== 'running' || this.#requested !== undefined;
  }

  /** The first stop condition that holds. @param started how many jobs were started */
  due(started: number): StopReason | undefined {
    if (this.#requested !== undefined) return this.#requested;
    const { memory, maxTime, maxJobs, once } = this.#options;
    if (memory < Infinity && process.memoryUsage.rss() > memory) return 'memory';
    if (maxTime < Infinity && this.#clock.monotonic() >= this.#endsAt) return 'max-time';
    if (started >= maxJobs) return once ? 'once' : 'max-jobs';
    return undefined;
  }

  /** The worker takes no more jobs. */
  end(reason: StopReason): void {
    this.state = 'stopping';
    this.#runs.end();
    if (!RAN_OUT.includes(reason)) this.#runs.stop();
  }

  /** The last deadline has passed: nobody waits for anything any more. */
  get isOver(): boolean {
    return this.#phase === 'over';
  }

  /** Starts the deadlines. `busy`: jobs run, and get the grace. Without any, only the last outcomes are waited for. */
  begin(busy: boolean): void {
    if (this.#phase !== 'working') return;
    this.#phase = 'ending';
    const finish = busy ? this.#options.grace : 0;
    this.#after(finish, () => this.#runs.interrupt());
    this.#after(finish + ABORT_GRACE + SETTLE_GRACE, () => {
      this.#phase = 'over';
      this.#giveUp();
      this.#ring();
    });
  }

  /**
   * Resolves with `step`, or when the last deadline has passed. Handles one step at a time. Not `Promise.race`, which would
   * keep each loser on a promise that lives as long as the worker.
   */
  within(step: Promise<void>): Promise<void> {
    if (this.isOver) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#giveUp = resolve;
      step.then(resolve, reject);
    });
  }

  /** Leaves no timer behind; a later `begin` does nothing. */
  close(): void {
    this.#phase = 'over';
    this.state = 'stopped';
    for (const timer of this.#timers) timer.cancel();
  }

  #after(seconds: Seconds, run: () => void): void {
    this.#timers.push(this.#clock.after(seconds * 1000, run));
  }
}

/** Where counts are estimates, they must stay at zero for this long, and no job may come meanwhile. */
const QUIET: Seconds = 5;

/** If more than this many jobs are delayed, we compare only their number, not their ids. */
const LONGEST_LOOK = 1000;

/**
 * Whether a store has nothing left for a worker that stops when it is empty: no ready jobs, and under `drain` no delayed
 * jobs either that this worker can run.
 */
export class Emptiness {
  readonly #settings: WorkerSettings;
  readonly #clock: Clock;
  /** Until this moment the leases of a dead process's jobs may still be running. */
  readonly #leftUntil: Milliseconds;
  #quietSince: Milliseconds;
  /** Ids of jobs that were put off for other workers, by queue. They come back each time they are taken. */
  readonly #forOthers = new Map<string, Set<string>>();

  constructor(settings: WorkerSettings) {
    const { application, process, lease } = settings;
    this.#settings = settings;
    this.#clock = application.clock;
    this.#quietSince = this.#clock.monotonic();
    this.#leftUntil = process.afterCrash === true ? this.#quietSince + lease * 1000 : -Infinity;
  }

  /** A job came or ended: earlier estimates do not include the jobs that it may have sent. */
  disturb(): void {
    this.#quietSince = this.#clock.monotonic();
  }

  /** Notes a job that only another worker can run. */
  leave({ queue, id }: { readonly queue: string; readonly id: string }): void {
    const left = this.#forOthers.get(queue) ?? new Set<string>();
    this.#forOthers.set(queue, left.add(id));
  }

  /**
   * @param nextLook when the store has a job next, as far as the last reserve knows; Infinity: it knows of none;
   *   undefined: it had more jobs than it gave, or something has happened since
   * @throws what `counts()` throws
   */
  async holds(nextLook: Milliseconds | undefined, paused: readonly string[]): Promise<boolean> {
    const { connection, options, queues } = this.#settings;
    const { exactCounts } = connection.capabilities;
    const isKnown = options.drain ? nextLook === Infinity : nextLook !== undefined;
    if (exactCounts && isKnown) return true;
    const open = queues.filter(({ name }) => !paused.includes(name));
    const waits = await Promise.all(open.map(({ name }) => this.#waitsOn(name)));
    if (waits.includes(true)) {
      this.disturb();
      return false;
    }
    return exactCounts || this.#clock.monotonic() - this.#quietSince >= QUIET * 1000;
  }

  async #waitsOn(queue: string): Promise<boolean> {
    const { connection, options } = this.#settings;
    const { ready, delayed, reserved } = await connection.queues.counts(queue);
    if (ready > 0 || !options.drain) return ready > 0;
    if (reserved > 0 && this.#clock.monotonic() < this.#leftUntil) return true;
    return delayed > 0 && !(await this.#areForOthers(queue, delayed));
  }

  // Compared by id where the store can list them: as many jobs as we put off may be delayed, and still be others.
  async #areForOthers(queue: string, delayed: number): Promise<boolean> {
    const { connection } = this.#settings;
    const left = this.#forOthers.get(queue);
    if (left === undefined || delayed > left.size) return false;
    const { queues } = connection;
    if (queues.peek === undefined || delayed > LONGEST_LOOK) return true;
    let last: PeekedJob | undefined;
    for (let shown = 0; shown < delayed;) {
      const page = await queues.peek(queue, 'delayed', delayed, last?.place);
      if (!page.every(({ payload }) => left.has(readId(payload) ?? ''))) return false;
      last = page.at(-1);
      if (last?.place === undefined) break;
      shown += page.length;
    }
    return true;
  }
}

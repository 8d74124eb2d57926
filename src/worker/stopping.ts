/** Decides when a worker stops and how long each phase of its end may take: finish, abort, write the rest, give up. */
import type { Clock, Milliseconds, Seconds, Timer } from '../base/clock';
import type { WorkerState } from './health';
import type { ResolvedWorkerOptions } from './worker-options';

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
export const RAN_OUT: readonly StopReason[] = ['empty', 'once', 'max-jobs'];

/** How long a handler may take to return after its signal aborts. */
export const ABORT_GRACE: Seconds = 0.5;
/** How long the store may take to take the last outcomes. */
const SETTLE_GRACE: Seconds = 5;

/**
 * Whoever waits for an end has to wait longer than everything within it may take. Time beyond the grace, for a worker, which
 * closes its leases last …
 */
export const WORKER_MARGIN: Seconds = ABORT_GRACE + SETTLE_GRACE + 2.5;
/** … and for its process, which also closes its connections. After that it counts as blocked and is killed. */
export const PROCESS_MARGIN: Seconds = WORKER_MARGIN + 2;

export class Stopping {
  readonly #options: ResolvedWorkerOptions;
  readonly #clock: Clock;
  readonly #interrupt: () => void;
  readonly #over: () => void;
  readonly #startedAt: Milliseconds;
  readonly #timers: Timer[] = [];
  #phase: 'working' | 'ending' | 'over' = 'working';
  #giveUp: () => void = () => undefined;
  state: WorkerState = 'new';
  /** Set by `stop()`, by an uncaught error or by the store. The first request wins. */
  requested: 'stopped' | 'uncaught' | 'restart' | undefined;

  /**
   * @param interrupt called when the grace is over, to abort what still runs
   * @param over called when the last deadline has passed
   */
  constructor(options: ResolvedWorkerOptions, clock: Clock, interrupt: () => void, over: () => void) {
    this.#options = options;
    this.#clock = clock;
    this.#interrupt = interrupt;
    this.#over = over;
    this.#startedAt = clock.monotonic();
  }

  /** No more jobs are started. */
  get isEnding(): boolean {
    return this.state !== 'running' || this.requested !== undefined;
  }

  /** When `maxTime` has passed. */
  get endsAt(): Milliseconds {
    return this.#startedAt + this.#options.maxTime * 1000;
  }

  /** When `once` has waited long enough. */
  get onceUntil(): Milliseconds {
    return this.#options.once ? this.#startedAt + this.#options.sleep * 1000 : Infinity;
  }

  /** The first stop condition that holds. @param started how many jobs were started */
  reason(started: number): StopReason | undefined {
    if (this.requested !== undefined) return this.requested;
    const { memory, maxTime, maxJobs, once } = this.#options;
    if (memory < Infinity && process.memoryUsage.rss() > memory) return 'memory';
    if (maxTime < Infinity && this.#clock.monotonic() >= this.endsAt) return 'max-time';
    if (started >= maxJobs) return once ? 'once' : 'max-jobs';
    return undefined;
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
    this.#after(finish, this.#interrupt);
    this.#after(finish + ABORT_GRACE + SETTLE_GRACE, () => {
      this.#phase = 'over';
      this.#giveUp();
      this.#over();
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
    for (const timer of this.#timers) timer.cancel();
  }

  #after(seconds: Seconds, run: () => void): void {
    this.#timers.push(this.#clock.after(seconds * 1000, run));
  }
}

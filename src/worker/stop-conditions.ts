/** When a worker stops by itself. */
import type { Clock } from '../base/clock';
import type { ResolvedWorkerOptions } from './worker-options';

/**
 * Why `run()` came back: `stopped` by `stop()`; `empty` under `stopWhenEmpty` or `drain`, or under `once` when there was no job;
 * `once` after its one job; `restart` when all workers of the store were told to start anew;
 * `stuck`, under the command only, when each slot is held by a job that was given up; `uncaught`, there too, after an error that nobody caught; the others when their limit was reached.
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

/** The worker ends as it has nothing more to do: what runs may take its time. */
export const RUN_OUT: readonly StopReason[] = ['empty', 'once', 'max-jobs'];

export class StopConditions {
  readonly #options: ResolvedWorkerOptions;
  readonly #clock: Clock;
  readonly #startedAt: number;
  /** Jobs that were started. */
  started = 0;
  /** By `stop()`, or by an error that nobody caught. */
  stopRequested: 'stopped' | 'uncaught' | undefined;
  restartRequested = false;

  constructor(options: ResolvedWorkerOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  /** How many jobs may still be reserved. */
  get jobsLeft(): number {
    return this.#options.maxJobs - this.started;
  }

  /** Milliseconds until `maxTime` has passed. */
  get timeLeft(): number {
    return this.#startedAt + this.#options.maxTime * 1000 - this.#clock.monotonic();
  }

  /** Milliseconds until `once` has waited long enough. */
  get patienceLeft(): number {
    return this.#options.once ? this.#startedAt + this.#options.sleep * 1000 - this.#clock.monotonic() : Infinity;
  }

  /** Checked between reserves; the first that holds. */
  reason(): StopReason | undefined {
    if (this.stopRequested !== undefined) return this.stopRequested;
    if (this.restartRequested) return 'restart';
    if (this.#options.memory < Infinity && process.memoryUsage.rss() > this.#options.memory) return 'memory';
    if (this.timeLeft <= 0) return 'max-time';
    if (this.jobsLeft <= 0) return this.#options.once ? 'once' : 'max-jobs';
    return undefined;
  }
}

/** What `@Job()` takes, what a dispatch or an instance may choose, and what comes out when all of it is resolved. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Delay, Duration } from './duration';

/**
 * Waits between attempts: one for all, or a list whose last value repeats, or one that doubles each time. `jitter` spreads
 * each by ± that share (0 to 1; true: 0.5).
 */
export type Backoff =
  | Duration
  | readonly Duration[]
  | { readonly delays: Duration | readonly Duration[]; readonly jitter?: number | boolean | undefined }
  | {
      /** The first wait; each further one is twice as long. */
      readonly exponential: Duration;
      /** The longest wait, also with its jitter. Default 1 d. */
      readonly max?: Duration | undefined;
      readonly jitter?: number | boolean | undefined;
    };

export interface JobOptions {
  /** The name in payloads; by default the class's. Give one where a bundler minifies class names. */
  name?: string | undefined;
  /** Former names, still understood. */
  aliases?: readonly string[] | undefined;
  /** Version of the job's data; a payload of an older one goes through `upgrade`. Default: none. */
  version?: number | undefined;
  /** Turns the data of an older version into today's. Gets the decoded plain data and the version they were written with (0: none). */
  upgrade?: ((data: Record<string, unknown>, from: number) => Record<string, unknown>) | undefined;
  connection?: string | undefined;
  queue?: string | undefined;
  delay?: Delay | undefined;
  /** Attempts before the job fails; 0: no limit. Default 1. */
  tries?: number | undefined;
  /** Default 0. */
  backoff?: Backoff | undefined;
  /** Default 60 s; 0: none. */
  timeout?: Duration | undefined;
  /** Fail at the first timeout, whatever `tries` says. Default false. */
  failOnTimeout?: boolean | undefined;
  /** Leases that may run out before the job counts as poison. Default 3; 0: no limit. */
  maxCrashes?: number | undefined;
  /** Attempts that may end by a throw before the job fails. Default: no limit. */
  maxExceptions?: number | undefined;
  /** No attempt starts after this span from the dispatch (or this moment); replaces `tries`. */
  retryUntil?: Delay | undefined;
  /**
   * Within `Queue.transaction()`: a dispatch is sent once that is done, as if it said `afterCommit()`; false: at once, whatever
   * the connection says. Default: what the connection says.
   */
  afterCommit?: boolean | undefined;
}

/** Resolved backoff: at least one delay. */
export interface ResolvedBackoff {
  readonly delays: readonly Seconds[];
  readonly jitter: number;
}

/** What the dispatch or the instance chose: it alone travels in the payload, under Laravel's field names. */
export interface ChosenOptions {
  readonly tries?: number | undefined;
  readonly backoff?: ResolvedBackoff | undefined;
  readonly timeout?: Seconds | undefined;
  readonly failOnTimeout?: boolean | undefined;
  readonly maxCrashes?: number | undefined;
  readonly maxExceptions?: number | undefined;
  readonly retryUntil?: Milliseconds | undefined;
  /** A span from the push, which becomes `retryUntil` by the clock of the store. */
  readonly retryWithin?: Seconds | undefined;
}

/** What a worker's flags say for jobs that say nothing themselves. */
export interface WorkerDefaults {
  readonly tries?: number | undefined;
  readonly backoff?: ResolvedBackoff | undefined;
  readonly timeout?: Seconds | undefined;
}

/** The options of one run. */
export interface RunOptions {
  readonly tries: number;
  readonly backoff: ResolvedBackoff;
  readonly timeout: Seconds;
  readonly failOnTimeout: boolean;
  readonly maxCrashes: number;
  readonly maxExceptions: number | undefined;
  readonly retryUntil: Milliseconds | undefined;
}

/** Where and when one dispatch goes. */
export interface Route {
  readonly connection: string;
  readonly queue: string;
  /** 0 where it waits for a moment. */
  readonly delay: Seconds;
  /** The moment that it waits for, where it is no duration. */
  readonly dueAt?: Milliseconds | undefined;
}

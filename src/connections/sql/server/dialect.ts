/**
 * What a dialect gives, so that one connection class works with every database server: its statements, how it makes its
 * tables, how its errors read, and how a worker waits for work.
 *
 * What all dialects keep:
 *
 * - The tables are Laravel's, `jobs` and `failed_jobs`, with columns of our own behind them that have defaults.
 * - All times are those of the server, plus an offset that is 0 outside tests.
 * - A job in line has a `place`. What is pushed goes to the tail, what is reclaimed to the head, what becomes due to the
 *   tail in the order of the moments: a clock that jumps reorders nothing. A row of Laravel's has no place, and counts as
 *   delayed until `available_at`.
 * - `id` and fence (attempts + crashes + releases) tell a reservation from all others: they stand in the condition of
 *   each statement that ends or renews one.
 * - Each method is one statement, or several within one transaction (`transactions`), which the caller begins and ends.
 *   It may be rolled back and called again.
 */
import type { Seconds } from '../../../base/clock';
import type { FailedEntry, Forgotten } from '../../failed-store';
import type { Counters } from '../../../payload/counters';
import type { Counts, RenewResult, ReserveReply, ReserveRequest, Waiter, WaitingState } from '../../contract';
import type { CancelResult } from '../../control';
import type { Pause } from '../../pause';
import type { NewJob, StoredJob } from '../job-text';
import type { CallMark } from './call-marks';
import type { SqlSession } from './sql-session';

export interface Dialect {
  /** For people: `PostgreSQL`. */
  readonly product: string;
  /** Whether what writes needs a transaction around it. */
  readonly transactions: boolean;
  readonly jobs: JobStatements;
  readonly failed: FailedStatements;
  readonly locks: LockStatements;
  readonly orders: OrderStatements;
  readonly schema: Schema;
  readonly errors: ErrorReader;
}

export interface QueuedJob extends NewJob {
  readonly queue: string;
  /** Refuse it where the very text waits as delayed already. */
  readonly unique: boolean;
}

/** What finds a reservation again: a job's id is never used twice, its fence grows with each reservation. */
export interface ReservationToken {
  readonly id: number;
  readonly fence: number;
}

/** How a reservation ends, as far as the tables are concerned. */
export type Ending = ReservationToken &
  (
    | { readonly kind: 'removed' }
    /** Delay 0: at once, at the tail. */
    | {
        readonly kind: 'released';
        readonly queue: string;
        readonly delay: Seconds;
        /** Seconds since 1970, in place of `delay`. */
        readonly due?: Seconds | undefined;
        /** To the place in line that it has kept. */
        readonly front?: boolean | undefined;
        readonly counters: Counters;
      }
    /** Moved to the failed jobs. */
    | {
        readonly kind: 'failed';
        readonly entry: NewFailure;
        /** Its payload is what stands in the row, and need not travel: it may be longer than a call can be. */
        readonly asStored?: boolean;
      }
  );

export type NewFailure = Omit<FailedEntry, 'failedAt'>;

/** First the endings, then the request: in one transaction, and where possible in one round trip. */
export interface Exchange {
  readonly endings: readonly Ending[];
  readonly request: ReserveRequest | undefined;
  /**
   * What calls before this one settled without an answer counts as settled by this one; what they reserved goes back at no
   * cost first.
   */
  readonly mark: CallMark;
}

export interface TakenJob extends StoredJob {
  readonly queue: string;
}

export interface Exchanged {
  /** The ids of those endings that were written. */
  readonly settled: ReadonlySet<number>;
  /** In the order of the queues and of their places. */
  readonly taken: readonly TakenJob[];
  readonly outlook: Pick<ReserveReply, 'nextIn' | 'now' | 'paused' | 'restart'>;
}

export interface JobStatements {
  /**
   * Adds the jobs, remembers their queues, and wakes who waits for them. Without a `mark`: within a transaction of the
   * user's own, where the queues are remembered by `remember`.
   *
   * Returns the index of a job that is refused as it is not unique: then nothing was added.
   */
  push(session: SqlSession, jobs: readonly QueuedJob[], mark: CallMark | undefined): Promise<number | undefined>;
  remember(session: SqlSession, queue: string): Promise<void>;
  /** Whether a transaction of the user's has begun, and is not over: otherwise each statement is committed by itself. */
  isWithin(session: SqlSession): Promise<boolean>;
  /**
   * Reserves within the bounds of a call (100 jobs, 1 MiB of text; always one), in the order of the queues: ended leases
   * are reclaimed and due jobs promoted on each of them, paused queues hand out nothing.
   */
  exchange(session: SqlSession, exchange: Exchange): Promise<Exchanged>;
  renew(session: SqlSession, tokens: readonly ReservationToken[], lease: Seconds): Promise<readonly RenewResult[]>;
  /** Gives reserved jobs another text, with this id in it. */
  rewrite(
    session: SqlSession,
    jobs: readonly (ReservationToken & Pick<NewJob, 'uuid'> & { readonly payload: Buffer })[],
  ): Promise<void>;
  counts(session: SqlSession, queue: string): Promise<Counts>;
  peek(session: SqlSession, queue: string, state: WaitingState, limit: number): Promise<readonly StoredJob[]>;
  /** Seconds since 1970. */
  now(session: SqlSession): Promise<Seconds>;
  /** The id that no job older than now exceeds. */
  newest(session: SqlSession): Promise<number>;
  /** Removes up to `limit` jobs that are no newer than `newest`; returns how many. */
  clear(session: SqlSession, queue: string, newest: number, limit: number): Promise<number>;
  queues(session: SqlSession): Promise<readonly string[]>;
  cancel(session: SqlSession, id: string, queue: string | undefined, reason: string | undefined): Promise<CancelResult>;
  /** Those of these jobs that were cancelled: true, or why. */
  cancelled(session: SqlSession, ids: readonly number[]): Promise<ReadonlyMap<number, true | string>>;
  /** Some jobs of other programs, whose ids nobody has read yet. */
  unread(session: SqlSession, limit: number): Promise<readonly { readonly id: number; readonly payload: Buffer }[]>;
  /** From here on a job is known by its id: '' where it has none. */
  know(session: SqlSession, jobs: readonly { readonly id: number; readonly uuid: string }[]): Promise<void>;
  /** Forgets what these clients were told, and what was told to any a day ago. */
  forget(session: SqlSession, clients: readonly string[]): Promise<void>;
}

/** See `FailedStore`. */
export interface FailedStatements {
  put(session: SqlSession, entry: NewFailure): Promise<void>;
  list(session: SqlSession, queue: string | undefined, limit: number, offset: number): Promise<readonly FailedEntry[]>;
  get(session: SqlSession, id: string): Promise<FailedEntry | undefined>;
  count(session: SqlSession, queue: string | undefined): Promise<number>;
  /** Removes the entry if it is still as it was read, and adds the job: both, or neither. */
  retry(session: SqlSession, entry: FailedEntry, job: QueuedJob): Promise<boolean>;
  forget(session: SqlSession, entry: Forgotten): Promise<boolean>;
  /** The row that no entry older than now exceeds, but for the newest `keep` (of the queue). */
  newest(session: SqlSession, queue: string | undefined, keep: number): Promise<number>;
  /** Removes up to `limit` entries that are no newer than row `newest`; returns how many. */
  flush(session: SqlSession, queue: string | undefined, newest: number, limit: number): Promise<number>;
  /** Removes up to `limit` entries that failed more than `age` seconds ago; returns how many. */
  pruneOlder(session: SqlSession, queue: string | undefined, age: Seconds, limit: number): Promise<number>;
}

/** See `LockStore`. */
export interface LockStatements {
  acquire(session: SqlSession, name: string, token: string, ttl: Seconds): Promise<boolean>;
  renew(session: SqlSession, name: string, token: string, ttl: Seconds): Promise<boolean>;
  release(session: SqlSession, name: string, token: string): Promise<boolean>;
}

/** See `Control`. */
export interface OrderStatements {
  pause(session: SqlSession, queue: string, seconds: Seconds | undefined): Promise<boolean>;
  /** Wakes who waits for the queue. */
  resume(session: SqlSession, queue: string): Promise<boolean>;
  paused(session: SqlSession): Promise<readonly Pause[]>;
  restart(session: SqlSession, token: string): Promise<void>;
}

/** What is found on a server before anything is asked of its tables. */
export interface Found {
  /** Its product and version, for people: `MariaDB 10.11.14`. */
  readonly server: string;
  /** The version that is needed, where this one is too old. */
  readonly needed?: string | undefined;
  /** The version of our tables; 0: they are not there. */
  readonly version: number;
  /** What is wrong with them all the same, as a clause: `jobs.attempts is smallint, where bigint is needed`. */
  readonly flaw?: string | undefined;
}

export interface Schema {
  /** The version of the tables that the statements need. */
  readonly version: number;
  look(session: SqlSession): Promise<Found>;
  /** Brings the tables up to date, whoever else does so now; returns what was found. May be called again. */
  migrate(session: SqlSession): Promise<Pick<Found, 'version' | 'flaw'>>;
  /** Gives the jobs that workers of Laravel's have reserved an end of their leases: left behind, they would stay so for ever. */
  adopt(session: SqlSession): Promise<void>;
  /** What `migrate` does, for those who run it themselves: may be run again, and on tables that Laravel has made. */
  sql(): string;
}

/**
 * `gone`: the connection ended, or could not be made; what was sent may have been carried out.
 * `passing`: it was not carried out, and will be when it is asked again: a deadlock, a server that starts.
 * `unmigrated`: a table, a column or a function of ours is not there.
 * `unfit`: what was to be written is refused for itself; something else would be taken.
 * `refused`: it was not carried out, and asking again does not help.
 */
export type Trouble = 'gone' | 'passing' | 'unmigrated' | 'unfit' | 'refused';

export interface ErrorReader {
  trouble(error: unknown): Trouble;
  /** What somebody can do about it, as a sentence. */
  remedy(error: unknown): string | undefined;
}

/** How workers wait on a server: by its hints where it gives some, otherwise by looking now and then. */
export interface Waiters {
  open(queues: readonly string[]): Waiter;
  close(): Promise<void>;
}

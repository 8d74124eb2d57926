/**
 * What a dialect gives, so that one connection class works with every database: how it writes what all of them do, and its own
 * statements where claiming jobs needs them.
 *
 * What all dialects keep:
 *
 * - The tables are Laravel's, `jobs` and `failed_jobs`, with columns of our own behind them that have defaults.
 * - A job in line has a `place`. What is pushed goes to the tail, what is reclaimed to the head, what becomes due to the
 *   tail in the order of the moments: a clock that jumps reorders nothing. A row of Laravel's has no place, and counts as
 *   delayed until `available_at`.
 * - `id` and fence (attempts + crashes + releases) tell a reservation from all others: they stand in the condition of
 *   each statement that ends or renews one.
 */
import type { Seconds } from '../../base/clock';
import type { Counters } from '../../payload/counters';
import type { BatchTie, DebounceTie, TiedJob, UniqueTie } from '../../payload/ties';
import type { BatchEnd, NewBatch } from '../batch-store';
import type { Pushed, RenewResult, ReserveReply, ReserveRequest, Waiter, WaitingState } from '../contract';
import type { FailedEntry } from '../failed-store';
import type { BatchChange } from '../kit/batch-counts';
import type { CallMark } from './call-marks';
import type { NewJob, StoredJob } from './job-row';
import type { Row, Sql, SqlRow, SqlSession, SqlValue, Work } from './statement';
import type { TableNames } from './table-names';

export interface Dialect {
  /** As they stand in statements. */
  readonly tables: Readonly<Record<keyof TableNames, Sql>>;

  /** Seconds since 1970 by the store's clock, to the microsecond. */
  readonly now: () => Sql;
  /** The moment after so many seconds. */
  readonly after: (seconds: Seconds) => Sql;
  /** A text column, as it is safe to read. */
  readonly read: (column: string) => Sql;
  /** A text, as a column of text holds it. */
  readonly text: (value: string) => string;
  /** A text that is looked for: an id or the name of a lock. */
  readonly key: (value: string) => string;

  /** Adds a row, unless there is one with its key. */
  readonly insertNew: (table: Sql, row: Row) => Sql;
  /** Adds rows, each in place of the one with its key. One with an `id` gets a new one. */
  readonly replace: (table: Sql, key: readonly string[], rows: Row | readonly Row[], renewed?: 'id') => Sql;
  /** Removes the rows whose `key` the page selects. */
  readonly remove: (table: Sql, key: readonly string[], page: Sql) => Sql;
  /** Adds to sums as one step of the store: a process that stops on the way keeps no row from others. */
  readonly addOnce: (addition: Addition) => Work<unknown>;
  /** Behind the name of the table of records: an index leads along those of a kind by their ends. */
  readonly alongKind: Sql;
  /** A number of rows, for LIMIT and OFFSET: where the server guesses, it goes along an index for these. */
  readonly rows: (count: number) => Sql;
  /** Ends a SELECT: rows that others are at work on are left out, and the others are ours. */
  readonly skipLocked: Sql;
  /** Ends a SELECT: its rows are ours until the transaction ends. Others wait. */
  readonly forUpdate: Sql;
  /** Makes one transaction of statements that need not wait for each other's results. */
  readonly runTogether: (statements: readonly Sql[]) => Work<unknown>;
  /** Makes one transaction of work. */
  readonly transaction: <T>(work: Work<T>) => Work<T>;

  readonly line: Line;
  /** Of a job that may be tied to a batch the end of its text, of others NULL. */
  readonly tiedEnd: Sql;
  /** Removes the jobs whose `id` the page selects, within a transaction. */
  readonly removeJobs: (page: Sql) => Work<Removed>;
  readonly failed: FailedColumns;
  readonly jobs: JobStatements;
  /** An answer can be lost on its way: what became of calls is recorded. */
  readonly recordsCalls: boolean;

  readonly trouble: (error: unknown) => Trouble;
  /** Makes a session of a transaction that the user has begun; undefined: it is none that is known. */
  readonly sessionOf: (transaction: unknown) => SqlSession | undefined;
}

/**
 * What an error means for a call.
 *
 * `gone`: the connection ended, or could not be made; what was sent may have been carried out.
 * `passing`: it was not carried out, and will be when it is asked again: a deadlock, a server that starts.
 * `unmigrated`: a table, a column or a function of ours is not there.
 * `unfit`: what was to be written is refused for itself; something else would be taken.
 * `refused`: it was not carried out, and asking again does not help.
 */
export type Trouble = 'gone' | 'passing' | 'unmigrated' | 'unfit' | 'refused';

/** What is added to sums, unless as much was added by its source before. */
export interface Addition {
  readonly source: string;
  readonly sequence: number;
  /** How long it is known what was added: seconds. */
  readonly keep: Seconds;
  /** Each sum once, as columns of text hold its names. In an order; `keep` is seconds. */
  readonly amounts: readonly {
    readonly name: string;
    readonly field: string;
    readonly amount: number;
    readonly keep: Seconds;
  }[];
}

/** Jobs that are gone without an ending. */
export interface Removed {
  readonly removed: number;
  /** The ends of the texts of those that may have been tied to a batch. */
  readonly tied: readonly Buffer[];
}

/** How the jobs of a queue are found. */
export interface Line {
  /** `FROM … WHERE queue = …`, by an index. */
  readonly of: (queue: string | Sql) => Sql;
  /** The state, as a condition. */
  readonly state: Readonly<Record<WaitingState, Sql>>;
  /** When a job becomes ready or its lease ends. */
  readonly at: Readonly<Record<Exclude<WaitingState, 'ready'>, Sql>>;
  /** What the jobs of a state stand in order by, the last of which is `id`. None is NULL. */
  readonly order: Readonly<Record<WaitingState, readonly Sql[]>>;
  /** What an index leads along, where that is not the whole order. */
  readonly along?: Partial<Record<WaitingState, Sql>>;
  /** A lease, as the index has it, is not NULL: those of other programs are, and stand in order as 0. */
  readonly hasLease: Sql;
  /** A payload, as the column holds it. */
  readonly payload: (payload: Buffer) => SqlValue;
}

/** How a failed job is written and read. */
export interface FailedColumns {
  /** Behind the name of the table: an index leads along the jobs of a queue. */
  readonly alongQueue: Sql;
  /** Those of all queues, as a condition: a server that guesses is led along their ids. */
  readonly all: Sql;
  /** The payload, as it is read by `payloadOf`. */
  readonly payload: Sql;
  readonly payloadOf: (value: SqlValue) => Buffer;
  /** The columns that hold it. */
  readonly storedPayload: (payload: Buffer) => Row;
  /** It is this one. */
  readonly hasPayload: (payload: Buffer) => Sql;
  /** When it failed: milliseconds since 1970. */
  readonly failedAt: Sql;
  /** The columns that say when. */
  readonly failedNow: () => Row;
  /** It failed more than so many seconds ago. */
  readonly isOlder: (age: Seconds) => Sql;
}

export interface QueuedJob extends NewJob {
  readonly queue: string;
  /** Refuse it where the very text waits as delayed already. */
  readonly unique: boolean;
  /** The key that it takes: only where the capabilities have `ties`. */
  readonly tie?: UniqueTie | undefined;
  /** The key that it waits under: only where they have `debounce`. */
  readonly debounce?: DebounceTie | undefined;
  /** The batch that it belongs to: only where they have `batches`. */
  readonly batch?: BatchTie | undefined;
}

/**
 * Who has the keys of jobs that were to be pushed, and keeps them, or had them, and was replaced: by the places of these jobs, of
 * which all others are simply queued.
 */
export type Holders = ReadonlyMap<number, Exclude<Pushed, 'queued'>>;

/** What finds a reservation again: a job's id is never used twice, its fence grows with each reservation. */
export interface ReservationToken {
  readonly id: number;
  readonly fence: number;
}

/** By how much a batch changes with the end of one of its jobs. */
export interface Leaving {
  readonly id: string;
  readonly change: BatchChange;
}

/** How a reservation ends, as far as the tables are concerned. */
export type Ending = ReservationToken & { readonly leaves?: Leaving } & (
    | { readonly kind: 'removed'; readonly next?: Followers }
    /** Delay 0: at once, at the tail. */
    | {
        readonly kind: 'released';
        readonly queue: string;
        readonly delay: Seconds;
        /** Seconds since 1970, in place of `delay`. */
        readonly due?: Seconds | undefined;
        /** To the place in line that it has kept. */
        readonly front?: boolean | undefined;
        /** It is as if it had not been started: it takes the key again that it held until then. */
        readonly retakes?: TiedJob | undefined;
        readonly counters: Counters;
      }
    /** Moved to the failed jobs. */
    | {
        readonly kind: 'failed';
        readonly entry: NewFailure;
        /** Its payload is what stands in the row, and need not travel: it may be longer than a call can be. */
        readonly asStored: boolean;
        readonly next?: Followers;
      }
  );

/** Jobs that go in with an ending: if it is written, and not otherwise. */
export type Followers = readonly QueuedJob[] | undefined;

/** Those of all endings, in their order; as a rule there are none. */
export function followersOf(endings: readonly Ending[]): readonly QueuedJob[] {
  const followers: QueuedJob[] = [];
  for (const ending of endings) {
    if (ending.kind !== 'released' && ending.next !== undefined) followers.push(...ending.next);
  }
  return followers;
}

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

export type Outlook = Pick<ReserveReply, 'nextIn' | 'now' | 'paused' | 'restart'>;

export interface Exchanged {
  /** The ids of those endings that were written. */
  readonly settled: ReadonlySet<number>;
  /** In the order of the queues and of their places. */
  readonly taken: readonly TakenJob[];
  readonly outlook: Outlook;
  /** The queues that batches have sent something to. */
  readonly sentTo?: readonly string[] | undefined;
  /** Some batch was cancelled that is not over: jobs that were taken may belong to it. */
  readonly isCancelling?: boolean | undefined;
}

/** The statements that each dialect has of its own. Any of them may be rolled back and run again. */
export interface JobStatements {
  /**
   * Adds the jobs, and remembers their queues. Without a `mark`: within a transaction of the user's own, or of `retry`, where
   * the queues are remembered by `remember`.
   *
   * Returns the index of a job that is refused as it is not unique, or why the batch of the jobs takes no more: then nothing was
   * added. Or the holders of keys: all were added but those whose keys others keep.
   *
   * @param begins the batch, which is there from this step on
   */
  push(
    jobs: readonly QueuedJob[],
    mark: CallMark | undefined,
    begins?: NewBatch,
  ): Work<number | BatchEnd | Holders | undefined>;
  /** Absent: `push` always does so. */
  remember?(queue: string): Sql;
  /** Whether a transaction of the user's has begun, and is not over: otherwise each statement is committed by itself. */
  isWithin(): Work<boolean>;
  /**
   * Reserves within the bounds of a call (100 jobs, 1 MiB of text; always one), in the order of the queues: ended leases
   * are reclaimed and due jobs promoted on each of them, paused queues hand out nothing.
   */
  exchange(exchange: Exchange): Work<Exchanged>;
  /** What `exchange` would tell where it would change nothing; undefined: there is something to do. Takes no lock. */
  idle?(queues: readonly string[]): Work<Outlook | undefined>;
  renew(tokens: readonly ReservationToken[], lease: Seconds): Work<readonly RenewResult[]>;
}

/** How workers wait: by hints where the database gives some, otherwise by looking now and then. */
export interface Waiters {
  open(queues: readonly string[]): Waiter;
  /** This process has written for the queue: something may be had. */
  wrote?(queue: string): void;
  /** There was work on these queues: more may follow soon. */
  busy?(queues: readonly string[]): void;
  close(): Promise<void>;
}

/** For `renew`: by which tokens the rows that a statement gives are told from each other. */
export function renewResults(tokens: readonly ReservationToken[], rows: readonly SqlRow[]): readonly RenewResult[] {
  const renewed = new Map(rows.map(([id, fence, cancelled]) => [`${Number(id)}:${Number(fence)}`, isTrue(cancelled!)]));
  return tokens.map(({ id, fence }) => {
    const cancelled = renewed.get(`${id}:${fence}`);
    if (cancelled === undefined) return 'lost';
    return cancelled ? 'cancelled' : 'renewed';
  });
}

/** The ends of texts, as `tiedEnd` gives them. */
export function tiedIn(ends: readonly SqlValue[]): readonly Buffer[] {
  return ends.filter((end) => end !== null).map((end) => Buffer.from(end as Buffer));
}

/** PostgreSQL writes `t`. */
export const isTrue = (value: SqlValue): boolean => value === 't' || Number(value) > 0;

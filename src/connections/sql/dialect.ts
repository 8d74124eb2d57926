/**
 * What a dialect provides, so that one connection class works with every database: the spelling of what all databases do,
 * and its own statements where claiming jobs needs them.
 *
 * What all dialects keep:
 *
 * - The tables are Laravel's, `jobs` and `failed_jobs`, plus columns of our own with defaults.
 * - A job in line has a `place`. Pushed jobs go to the tail, reclaimed jobs to the head, and jobs that become due go to the
 *   tail in the order of their due times, so a clock that jumps reorders nothing. A row of Laravel's has no place, and
 *   counts as delayed until `available_at`.
 * - `id` and fence (attempts + crashes + releases) identify a reservation: every statement that ends or renews one has both
 *   in its condition.
 */
import type { Seconds, Milliseconds } from '../../base/clock';
import {
  countersIn,
  noCounters,
  readCounters,
  readCountersOfAny,
  readId,
  withCounters,
  type Counters,
} from '../../payload/counters';
import {
  readTies,
  type BatchTie,
  type DebounceTie,
  type LaneTie,
  type TiedJob,
  type UniqueTie,
} from '../../payload/ties';
import type { BatchEnd, NewBatch } from '../batch-store';
import {
  WAITING_STATES,
  type FollowUp,
  type Pushed,
  type RenewResult,
  type ReserveReply,
  type WaitingState,
  type Wanted,
} from '../contract';
import type { FailedEntry } from '../failed-store';
import type { BatchChange } from '../kit/batch-counts';
import type { CallMark } from './calls';
import {
  raw,
  sql,
  type Row,
  type RowId,
  type Sql,
  type SqlRow,
  type SqlSession,
  type SqlValue,
  type Work,
} from './statement';
import type { TableNames } from './address';

export interface Dialect {
  /** The tables' names, as written in statements. */
  readonly tables: Readonly<Record<keyof TableNames, Sql>>;

  /** The time of the store: seconds since 1970, to the microsecond. */
  readonly now: () => Sql;
  /** The time in so many seconds. */
  readonly after: (seconds: Seconds) => Sql;
  /** Selects a text column in a way that is safe to read. */
  readonly read: (column: string) => Sql;
  /** Turns a text into one that a text column can hold. */
  readonly text: (value: string) => string;
  /** Turns a text that is looked up, an id or the name of a lock, into the value of its column. */
  readonly key: (value: string) => string;

  /** Adds a row, unless one with its key exists. */
  readonly insertNew: (table: Sql, row: Row) => Sql;
  /** Adds rows, each replacing the one with the same key. With `renewed`, replaced rows get a new `id`. */
  readonly replace: (table: Sql, key: readonly string[], rows: Row | readonly Row[], renewed?: 'id') => Sql;
  /** Removes the rows whose `key` the page selects. */
  readonly remove: (table: Sql, key: readonly string[], page: Sql) => Sql;
  /** Adds to sums in one step of the store, so a process that stops halfway keeps no rows locked. */
  readonly addOnce: (addition: Addition) => Work<unknown>;
  /** Goes after the name of the records table, to use the index on kind and end. */
  readonly alongKind: Sql;
  /** A number of rows for LIMIT and OFFSET, written so that a server that guesses uses an index. */
  readonly rows: (count: number) => Sql;
  /** Ends a SELECT: locks its rows, and skips those that others have locked. */
  readonly skipLocked: Sql;
  /** Ends a SELECT: locks its rows until the transaction ends. Others wait. */
  readonly forUpdate: Sql;
  /** Runs statements in one transaction. They may not depend on each other's results. */
  readonly runTogether: (statements: readonly Sql[]) => Work<unknown>;
  readonly transaction: <T>(work: () => Work<T>) => Work<T>;

  readonly line: Line;
  /** The columns of a job that waits until a moment. */
  readonly waiting: (due: Seconds) => Row;
  /** The columns of a job that is ready, at the tail of its queue. */
  readonly lastInLine: (queue: string, now: Seconds) => Work<Row>;
  /** Selects the end of the payload of a job that may belong to a batch; NULL for other jobs. */
  readonly tiedEnd: Sql;
  /** Removes the jobs whose `id` the page selects. Call it within a transaction. */
  readonly removeJobs: (page: Sql) => Work<Removed>;
  readonly failed: FailedColumns;
  readonly jobs: JobStatements;
  readonly lanes: LaneStatements;
  /** The maximum number of jobs that one call pushes, if other than the usual limit of a call. */
  readonly pushedPage?: number;
  /** See `AtOnce.pushes`. */
  readonly pushesAtOnce?: number;
  /** Whether calls are recorded, because their answers can get lost on the way. */
  readonly recordsCalls: boolean;

  readonly trouble: (error: unknown) => Trouble;
  /** What the user can do about an error of a server, as a sentence. */
  readonly remedy?: (error: unknown) => string | undefined;
  /** A session on a transaction that the user has begun; undefined if we do not know such transactions. */
  readonly sessionOf: (transaction: unknown) => SqlSession | undefined;
}

/** How a database writes what all do: what its own statements are made of. */
export type Wording = Omit<Dialect, 'jobs'>;

/**
 * What an error means for a call.
 *
 * - `gone`: the connection ended or could not be made; what was sent may have been carried out.
 * - `passing`: it was not carried out, but a retry will succeed: a deadlock, a server that is starting.
 * - `unmigrated`: one of our tables, columns or functions is missing.
 * - `unfit`: the database refuses this particular value; it would accept others.
 * - `refused`: it was not carried out, and a retry does not help.
 */
export type Trouble = 'gone' | 'passing' | 'unmigrated' | 'unfit' | 'refused';

/** Amounts to add to sums, unless the source has added them before. */
export interface Addition {
  readonly source: string;
  readonly sequence: number;
  /** How long to remember what was added, in seconds. */
  readonly keep: Seconds;
  /** Each sum once, with names as text columns hold them, in a fixed order. `keep` is in seconds. */
  readonly amounts: readonly {
    readonly name: string;
    readonly field: string;
    readonly amount: number;
    readonly keep: Seconds;
  }[];
}

/** Jobs that were removed without being settled. */
export interface Removed {
  readonly removed: number;
  /** The ends of the payloads of those that may belong to a batch. */
  readonly tied: readonly Buffer[];
}

/** `held`: by its lane. Others see such a job as ready, behind all that are. */
export type LineState = WaitingState | 'held';

export const LINE_STATES: readonly LineState[] = [...WAITING_STATES, 'held'];

/** How to find the jobs of a queue. */
export interface Line {
  /** `FROM … WHERE queue = …`, by an index. */
  readonly of: (queue: string | Sql) => Sql;
  readonly state: Readonly<Record<LineState, Sql>>;
  /** Neither in line nor reserved: delayed or held. */
  readonly unplaced: Sql;
  /** When a job becomes ready or its lease ends. */
  readonly at: Readonly<Record<'delayed' | 'reserved', Sql>>;
  /** The columns that the jobs of a state are ordered by, the last of which is `id`. None is NULL. */
  readonly order: Readonly<Record<LineState, readonly Sql[]>>;
  /** The column that the index orders by, where that is not the whole order. */
  readonly along?: Partial<Record<LineState, Sql>>;
  /** The condition that a job has a lease. Jobs reserved by other programs have NULL, and count as 0 in the order. */
  readonly hasLease: Sql;
  /** Turns a payload into the value of its column. */
  readonly payload: (payload: Buffer) => SqlValue;
}

/** How to write and read a failed job. */
export interface FailedColumns {
  /** Goes after the name of the table, to use the index on the queue. */
  readonly alongQueue: Sql;
  /** The condition for the jobs of all queues, written so that a server that guesses goes along their ids. */
  readonly all: Sql;
  /** Selects the payload for `payloadOf`. */
  readonly payload: Sql;
  readonly payloadOf: (value: SqlValue) => Buffer;
  /** The values of the columns that hold the payload. */
  readonly storedPayload: (payload: Buffer) => Row;
  /** The condition that the job has this payload. */
  readonly hasPayload: (payload: Buffer) => Sql;
  /** The condition that a column contains a text; some databases ignore its case. */
  readonly contains: (column: 'exception' | 'payload', text: string) => Sql;
  /** When it failed: milliseconds since 1970. */
  readonly failedAt: Sql;
  /** The values of the columns that hold the time of failure. */
  readonly failedNow: () => Row;
}

export interface QueuedJob extends NewJob {
  readonly queue: string;
  /** Refuse the job if one with the same text is already delayed. */
  readonly unique: boolean;
  /** The unique key to take; only with the capability `ties`. */
  readonly tie?: UniqueTie | undefined;
  /** The debounce key to wait under; only with the capability `ties`. */
  readonly debounce?: DebounceTie | undefined;
  /** The batch that it belongs to; only with the capability `batches`. */
  readonly batch?: BatchTie | undefined;
  readonly lane?: LaneTie | undefined;
}

/**
 * Who already had the keys of pushed jobs: either still holds the key, so the new job was refused, or was replaced by it. By
 * the index of the pushed job; all others were simply queued.
 */
export type Holders = ReadonlyMap<number, Exclude<Pushed, 'queued'>>;

/**
 * The index of a job that was refused because it is not unique, or why the batch takes no more jobs: in both cases nothing
 * was added. Or the holders of keys: then all jobs were added except those whose key another job holds.
 */
export type PushAnswer = number | BatchEnd | Holders | undefined;

/** Identifies a reservation: a job's id is never reused, and its fence grows with each reservation. */
export interface ReservationToken {
  readonly id: RowId;
  readonly fence: number;
}

/** How a batch changes when one of its jobs ends. */
export interface Leaving {
  readonly id: string;
  readonly change: BatchChange;
}

/** A lane whose job leaves it or comes. */
export interface LaneMove {
  readonly queue: string;
  readonly lane: string;
  /** As its column has it: see `runningColumn`. */
  readonly running: number;
}

/** How a reservation ends in the tables. `next`: jobs to push if and only if the ending is written. */
export type Ending = ReservationToken & { readonly leaves?: Leaving; readonly lane?: LaneMove } & (
    | { readonly kind: 'removed'; readonly next?: readonly QueuedJob[] | undefined }
    /** With delay 0: at once, at the tail. */
    | {
        readonly kind: 'released';
        readonly queue: string;
        readonly delay: Seconds;
        /** Seconds since 1970, instead of `delay`. */
        readonly due?: Seconds | undefined;
        /** Back to the place in line that it kept. */
        readonly front?: boolean | undefined;
        /** The job counts as never started, so it takes the key again that it held until its start. */
        readonly retakes?: TiedJob | undefined;
        /** It gives up its unique key, and takes it again when it is handed out. */
        readonly frees?: TiedJob | undefined;
        readonly counters: Counters;
      }
    /** Moved to the failed jobs. */
    | {
        readonly kind: 'failed';
        readonly entry: NewFailure;
        /** Its payload is the one in the row, and is not sent again: it may be longer than a call can be. */
        readonly asStored: boolean;
        readonly next?: readonly QueuedJob[] | undefined;
      }
  );

/** The followers of all endings, in order; usually there are none. */
export function followersOf(endings: readonly Ending[]): readonly QueuedJob[] {
  const followers: QueuedJob[] = [];
  for (const ending of endings) {
    if (ending.kind !== 'released' && ending.next !== undefined) followers.push(...ending.next);
  }
  return followers;
}

export type NewFailure = Omit<FailedEntry, 'failedAt'>;

/** First the endings, then the request: in one transaction, and in one round trip where possible. */
export interface Exchange {
  readonly endings: readonly Ending[];
  readonly request: Wanted | undefined;
  /** The queues of the endings, if nothing is taken in their place. */
  readonly left?: readonly string[] | undefined;
  /**
   * What earlier, unanswered calls settled counts as settled by this one. First, what they reserved goes back to the queue
   * without counting as an attempt.
   */
  readonly mark: CallMark;
}

export interface TakenJob extends StoredJob {
  readonly queue: string;
}

export interface Outlook extends Pick<ReserveReply, 'nextIn' | 'now' | 'paused' | 'restart'> {
  /** Queues whose jobs are all held: nobody's end will let them in. */
  readonly stuck?: readonly string[] | undefined;
  /** Queues with due jobs that have yet to enter their lanes: see `LaneStatements.enter`. */
  readonly late?: readonly string[] | undefined;
}

export interface Exchanged {
  /** The ids of the endings that were written. */
  readonly settled: ReadonlySet<RowId>;
  /** In the order of the queues, then by place. */
  readonly taken: readonly TakenJob[];
  readonly outlook: Outlook;
  /** The queues that batches have sent something to, and those left that others may take more of. Absent if the server tells them. */
  readonly news?: readonly string[] | undefined;
  /** An unfinished batch was cancelled, and the jobs that were taken may belong to it. */
  readonly isCancelling?: boolean | undefined;
}

/** The statements that each dialect writes itself. Any of them may be rolled back and run again. */
export interface JobStatements {
  /**
   * Adds the jobs, and remembers their queues. Without a `mark` it runs within the user's own transaction, or in that of
   * `retry`; then the queues are to be remembered.
   *
   * @param begins the batch that starts with this push
   */
  push(jobs: readonly QueuedJob[], mark: CallMark | undefined, begins?: NewBatch): Work<PushAnswer>;
  /** How to remember the queues; nothing if `push` always does this. */
  remember(queues: readonly string[]): readonly Sql[];
  /** Whether the user's transaction is still open. Otherwise each statement would be committed by itself. */
  isWithin(): Work<boolean>;
  /**
   * Reserves within the bounds of a call (100 jobs, 1 MiB of payloads, at least one job), in the order of the queues. On
   * each queue ended leases are reclaimed and due jobs promoted; paused queues hand out nothing.
   */
  exchange(exchange: Exchange): Work<Exchanged>;
  /** What `exchange` would return if it had nothing to change; undefined if there is something to do. Takes no locks. */
  idle?(queues: readonly string[]): Work<Outlook | undefined>;
  renew(tokens: readonly ReservationToken[], lease: Seconds): Work<readonly RenewResult[]>;
  /** Reserved jobs give up their keys. Afterwards `takeBack` gives back a key that has no limit. */
  giveUp(jobs: readonly TiedReservation[]): Work<unknown>;
  /** Jobs that were handed out take the keys again that they have given up, if they are free. */
  takeBack(jobs: readonly TiedReservation[]): Work<unknown>;
}

/**
 * The lanes of queues. A job's row says its lane, how many of its jobs may be in, and in `lane_order` where it is: NULL, not in the
 * lane, as it is delayed; 0, in; otherwise held, in that order. The row of a lane says how many may be in.
 *
 * Whoever changes who is in locks the lane, after the rows of reserved jobs and before those of others, several lanes in the order
 * of their names; and counts only then.
 */
export interface LaneStatements {
  /** Until the transaction ends. */
  lock(queue: string, lane: string): Work<unknown>;
  /** Lets in what there is room for, as many as a call moves. Returns how many. */
  letIn(queue: string, lanes: readonly string[]): Work<number>;
  /** The columns of a job that is held behind the others of its lane, which is locked. */
  held(queue: string, lane: string): Work<Row>;
  /** Due jobs enter their lanes. Returns how many. Absent if `exchange` does this. */
  enter?(queue: string): Work<number>;
}

/** How many jobs of a lane may be in, by the columns of its row. */
export const MAY_BE_IN = 'CASE WHEN paused THEN 0 WHEN running = 0 THEN 1 ELSE COALESCE(own_limit, running) END';

/** 0: one at a time, in order. */
export const runningColumn = ({ running, ordered }: LaneTie): number => (ordered ? 0 : running);

/** The values of `lane` and `lane_limit` of a job. */
export const laneColumns = ({ lane }: QueuedJob): readonly [string | null, number | null] =>
  lane === undefined ? [null, null] : [lane.key, runningColumn(lane)];

/** The lanes of jobs that want to be ready. */
export function lanesIn(jobs: readonly QueuedJob[]): readonly LaneMove[] {
  return jobs.flatMap(({ queue, lane, delay }) =>
    lane === undefined || delay > 0 ? [] : [{ queue, lane: lane.key, running: runningColumn(lane) }],
  );
}

/** The lanes of these, each once, as the last of its moves has it. Sorted, so that two calls that lock them do not deadlock. */
export function lanesOf(moves: readonly LaneMove[]): readonly LaneMove[] {
  const lanes = new Map(moves.map((move) => [`${move.queue}\0${move.lane}`, move]));
  return [...lanes].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, move]) => move);
}

/** A reserved job with a unique key. */
export interface TiedReservation extends ReservationToken {
  readonly tied: TiedJob;
}

/** The results of `renew`, from the rows (id, fence, cancelled) that were renewed. */
export function renewResults(tokens: readonly ReservationToken[], rows: readonly SqlRow[]): readonly RenewResult[] {
  const renewed = new Map(rows.map(([id, fence, cancelled]) => [`${String(id)}:${Number(fence)}`, isTrue(cancelled)]));
  return tokens.map(({ id, fence }) => {
    const cancelled = renewed.get(`${id}:${fence}`);
    if (cancelled === undefined) return 'lost';
    return cancelled ? 'cancelled' : 'renewed';
  });
}

/** The ends of payloads that `tiedEnd` has selected. */
export function tiedIn(ends: readonly SqlValue[]): readonly Buffer[] {
  return ends.filter((end) => end !== null).map((end) => Buffer.from(end as Buffer));
}

/** PostgreSQL returns true as `t`. */
export const isTrue = (value: unknown): boolean => value === 't' || Number(value) > 0;

/** In line: it has a place, and nobody has reserved it. The indexes repeat the conditions of states letter by letter. */
export const READY = 'place IS NOT NULL AND reserved_at IS NULL';
/** Waits until it is due. Jobs inserted by other programs look like this too, as they have no place. */
export const DELAYED = 'place IS NULL AND reserved_at IS NULL';
export const RESERVED = 'reserved_at IS NOT NULL';

/** When held jobs would be due, where columns can hold it, so that nobody takes them: later than any delayed job. */
export const HELD_AT = 9e15;

/**
 * The line of a database whose indexes repeat the conditions of states.
 *
 * @param due when a delayed job is due, as the index on it has it
 */
export const indexedLine = (
  { jobs }: Dialect['tables'],
  due: string,
  rest: Pick<Line, 'along' | 'hasLease' | 'payload'>,
): Line => ({
  ...rest,
  of: (queue) => sql`FROM ${jobs} WHERE queue = ${queue}`,
  state: {
    ready: raw(READY),
    delayed: raw(`${DELAYED} AND ${due} <> ${HELD_AT}`),
    reserved: raw(RESERVED),
    held: raw(`${DELAYED} AND ${due} = ${HELD_AT}`),
  },
  unplaced: raw(DELAYED),
  at: { delayed: raw(due), reserved: raw('lease_until') },
  order: {
    ready: [raw('place'), raw('id')],
    delayed: [raw(due), raw('id')],
    held: [raw(due), raw('id')],
    reserved: RESERVED_ORDER,
  },
});

/** The order of the reserved jobs, of which there are few. Other programs set neither lease nor place. */
export const RESERVED_ORDER = [raw('COALESCE(lease_until, 0)'), raw('COALESCE(place, 0)'), raw('id')];

/** Grows by one with each reservation of a job. Together with the id it identifies a reservation. */
export const FENCE = '(attempts + crashes + releases)';

/** The payload has an `id`, which is in the column `uuid`. */
export const KNOWN_ID = "uuid <> ''";
/** The payload has no `id`. */
export const NO_ID = "uuid = ''";
/** Inserted by another program or an older version; nobody has read the payload's `id` yet. */
export const UNREAD_ID = 'uuid IS NULL';

export const UNHELD = 'reserved_at = NULL, lease_until = NULL';

/** How a database writes the maximum and minimum of two numbers, and the conversion of a value to a number. */
interface Comparison {
  readonly larger: string;
  readonly smaller: string;
  readonly number?: (column: string) => string;
}

/** Keeps a counter within bounds, as another program may have written it: see `MOST_COUNTED`. */
function sane({ larger, smaller, number = String }: Comparison, counter: string): string {
  return `${smaller}(${larger}(${number(counter)}, 0), ${MOST_COUNTED})`;
}

/** Conditions and counters on the columns of a job, written the same way for every database. */
export function countTaken(comparison: Comparison): string {
  const others = ['crashes', 'exceptions', 'timeouts', 'releases'].map((name) => `${name} = ${sane(comparison, name)}`);
  return [`attempts = ${sane(comparison, 'attempts')} + 1`, ...others].join(', ');
}

/** Counts an expired lease as a crash instead of an attempt. */
export function countCrash(comparison: Comparison): string {
  const attempts = `${comparison.larger}(${sane(comparison, 'attempts')} - 1, 0)`;
  return `attempts = ${attempts}, crashes = ${sane(comparison, 'crashes')} + 1`;
}

/**
 * A job as stored in the tables. While it is there its counters are in columns, and its payload stays as pushed. Readers see
 * one text with the counters in it, as on every other driver.
 */
export interface NewJob {
  readonly payload: string | Buffer;
  /** The payload's `id`; '' if it has none. */
  readonly uuid: string;
  readonly counters: Counters;
  readonly delay: Seconds;
  /** Seconds since 1970 by the store's clock, instead of `delay`. */
  readonly due?: Seconds | undefined;
}

/** The payload as pushed; the counters in its text are from that time. */
export interface StoredJob {
  readonly id: RowId;
  readonly payload: Buffer;
  readonly counters: Counters;
  /** Whether it was cancelled while running. */
  readonly cancelled: boolean;
  /** Seconds since 1970: when it becomes ready, or when its lease ends. */
  readonly at: Seconds | undefined;
}

/** Takes the counters from the pushed payload. A payload that is not a JSON object is pushed all the same. */
export function newJob(payload: string | Buffer, delay: Seconds, dueAt?: Milliseconds): NewJob {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const canonical = readCounters(bytes);
  const counters = canonical?.counters ?? readCountersOfAny(bytes) ?? noCounters;
  return {
    payload,
    delay,
    due: dueAt === undefined ? undefined : dueAt / 1000,
    uuid: readId(bytes, canonical) ?? '',
    counters,
  };
}

/** A job that follows another, or that a batch sends. */
export function followerOf({ queue, entry: { payload, delay = 0, dueAt, ties } }: FollowUp): QueuedJob {
  const job = newJob(payload, delay, dueAt);
  const lane = (ties ?? readTies(Buffer.from(payload)))?.lane;
  return lane === undefined ? { ...job, queue, unique: false } : { ...job, queue, unique: false, lane };
}

/** The payload as another driver would list it. If no counter has changed, the text is left alone. */
export function shownText({ payload, counters }: StoredJob): Buffer {
  const inText = countersIn(payload);
  return inText === undefined || same(inText, counters) ? payload : withCounters(payload, counters);
}

const same = (a: Counters, b: Counters): boolean => valuesOf(a).join() === valuesOf(b).join();

export const COUNTERS = 'attempts, crashes, exceptions, timeouts, releases';

/** In the order of `COUNTERS`. */
export function valuesOf({ attempts, crashes, exceptions, timeouts, releases }: Counters): readonly number[] {
  return [attempts, crashes, exceptions, timeouts, releases];
}

/**
 * A counter above this was written by another program or by hand. Taken as is, it would overflow or exceed what a token can
 * hold, and block all jobs behind it.
 */
export const MOST_COUNTED = 1e15;

/**
 * The column may hold anything; in SQLite even text. The bound is doubled as a job reserved since then may exceed it
 * slightly.
 */
function counted(value: unknown): number {
  const number = Math.trunc(Number(value));
  return Number.isNaN(number) ? 0 : Math.min(Math.max(number, 0), 2 * MOST_COUNTED);
}

/** @param row `id`, `payload`, the counters, `cancelled`, and when the job becomes ready or its lease ends */
export function jobOf(row: readonly unknown[]): StoredJob {
  const [id, payload, attempts, crashes, exceptions, timeouts, releases, cancelled, at = null] = row;
  return {
    id: String(id),
    payload: Buffer.isBuffer(payload) ? payload : Buffer.from(String(payload)),
    counters: {
      attempts: counted(attempts),
      crashes: counted(crashes),
      exceptions: counted(exceptions),
      timeouts: counted(timeouts),
      releases: counted(releases),
    },
    cancelled: isTrue(cancelled),
    at: at === null || Number.isNaN(Number(at)) ? undefined : Number(at),
  };
}

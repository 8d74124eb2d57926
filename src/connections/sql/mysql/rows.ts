/** The tables in MySQL and MariaDB as statements use them: names, columns, and the rows of jobs and calls. */
import type { Seconds } from '../../../base/clock';
import { eachTable, VERSIONS_TABLE, type TableNames } from '../address';
import { identifier } from './pool';
import { raw, sql, numeral, type Sql, type SqlPart } from '../statement';
import {
  countCrash,
  countTaken,
  FENCE,
  RESERVED_ORDER,
  type FailedColumns,
  type Line,
  type ReservationToken,
  type NewJob,
  followersOf,
  COUNTERS,
  laneColumns,
  valuesOf,
  type Ending,
  type QueuedJob,
} from '../dialect';
import { createHash } from 'node:crypto';
import { invalidQueueName } from '../../../job/errors';
import type { CallMark } from '../calls';

/** The names of a connection's tables and indexes, as written in statements, and its time. */
export type MysqlNames = Readonly<ReturnType<typeof mysqlNames>>;

/** @param offset seconds to add to the server's clock: 0 outside tests */
export function mysqlNames(given: TableNames, offset: () => Seconds = () => 0) {
  return {
    given,
    ...eachTable(given, identifier),
    /** The index of the jobs table on queue, state and turn. */
    turns: identifier(`${given.jobs}_turns`),
    /** The index of the jobs table on the payload's id. */
    ids: identifier(`${given.jobs}_ids`),
    /** The index of the jobs table on queue, lane and order. */
    laned: identifier(`${given.jobs}_laned`),
    versions: identifier(VERSIONS_TABLE),
    /**
     * The time by the server's clock: seconds since 1970, to the microsecond. In UTC, as with summer time a local time can
     * occur twice.
     */
    now: () =>
      sql`CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) * 0.000001 + ${offset()} AS DECIMAL(16, 6))`,
  };
}

/**
 * The values of the column `state`. `state` and `turn`, the order of the jobs of a state, form the one index for all queues.
 * The server computes both from other columns, so that Laravel's rows have them too.
 */
export const DELAYED = 0;
export const READY = 1;
export const RESERVED = 2;

export const UNHELD = raw('reserved_at = NULL, lease_until = NULL, holder = NULL');

const COMPARISON = { larger: 'GREATEST', smaller: 'LEAST' };
export const COUNT_TAKEN = raw(countTaken(COMPARISON));
export const COUNT_CRASH = raw(countCrash(COMPARISON));

/** The largest time that the columns hold, in the year 2286: seconds since 1970. */
export const LATEST = 9_999_999_999;

/** When held jobs would be due: later than any delayed job. */
export const HELD_AT = LATEST + 0.5;
/** For Laravel, which has four bytes for it. */
export const NEVER = 4_294_967_295;

/** The largest place. Beyond it `turn` would overflow, so nothing is put there. */
export const MOST_PLACE = 1e11;

/** How statements use the columns of the jobs table. */
export function mysqlLine({ jobs, turns }: MysqlNames): Line {
  const state = (number: number): Sql => sql`state = ${number}`;
  return {
    of: (queue) => sql`FROM ${jobs} FORCE INDEX (${turns}) WHERE queue = ${queue}`,
    state: {
      ready: state(READY),
      delayed: sql`${state(DELAYED)} AND turn < ${raw(String(HELD_AT))}`,
      reserved: state(RESERVED),
      held: sql`${state(DELAYED)} AND turn >= ${raw(String(HELD_AT))}`,
    },
    unplaced: state(DELAYED),
    at: { delayed: raw('turn'), reserved: raw('turn') },
    order: { ready: TURN, delayed: TURN, reserved: RESERVED_ORDER, held: TURN },
    along: { reserved: raw('turn') },
    hasLease: raw('turn IS NOT NULL'),
    payload: (payload) => payload,
  };
}

const TURN = [raw('turn'), raw('id')];

/** Sets `@onqueue_tail` to the last place in line. @param into where else to put it; nothing: the statement returns it */
export function findTail({ jobs, turns }: MysqlNames, queue: string, into = raw('INTO @onqueue_tail')): Sql {
  return sql`SELECT COALESCE(MAX(turn), 0) ${into} FROM ${jobs} FORCE INDEX (${turns})
    WHERE queue = ${queue} AND state = ${READY} AND turn <= ${MOST_PLACE}`;
}

/**
 * When a delayed job is due; undefined if it is ready at once. A job whose `due` has passed is delayed too, and due. The
 * columns hold no time before 1970.
 */
export function dueOf({ delay, due }: Pick<NewJob, 'delay' | 'due'>): Sql | undefined {
  if (due !== undefined) return sql`CAST(${Math.max(Math.min(due, LATEST), 0)} AS DECIMAL(16, 6))`;
  return delay > 0 ? sql`LEAST(@onqueue_now + ${delay}, ${LATEST})` : undefined;
}

/**
 * Laravel's column holds whole seconds in four bytes. For Laravel, too, ready jobs are available at once, and no job too
 * early.
 */
export const availableAt = (due: Sql | undefined): Sql =>
  due === undefined ? raw('FLOOR(@onqueue_now)') : sql`LEAST(CEIL(${due}), ${NEVER})`;

/** The condition for the jobs of these tokens that are still reserved. */
export function heldBy(tokens: readonly ReservationToken[]): Sql {
  if (tokens.length === 0) return raw('FALSE');
  const pairs = tokens.map(({ id, fence }) => sql`(${numeral(id)}, ${fence})`);
  return sql`id IN (${tokens.map(({ id }) => numeral(id))}) AND reserved_at IS NOT NULL AND (id, ${raw(FENCE)}) IN (${pairs})`;
}

/** @param current the current time, as a value */
export function failedColumns(current: () => Sql): FailedColumns {
  return {
    // Without it the server scans the whole queue for each page.
    alongQueue: raw('FORCE INDEX (onqueue_queue)'),
    all: raw('TRUE'),
    payload: raw('payload'),
    payloadOf: (value) => value as Buffer,
    storedPayload: (payload) => ({ payload }),
    hasPayload: (payload) => sql`payload = ${payload}`,
    contains: (column, text) => sql`INSTR(${raw(column)}, ${text}) > 0`,
    // Laravel writes whole seconds.
    failedAt: raw('COALESCE(failed_ms, UNIX_TIMESTAMP(failed_at) * 1000)'),
    failedNow: () => ({
      failed_at: sql`FROM_UNIXTIME(FLOOR(${current()}))`,
      failed_ms: sql`ROUND(${current()} * 1000)`,
    }),
  };
}

/** Bytes that a column with an index holds. */
const LONGEST_KEY = 255;

/** The value of an indexed column: texts that are too long for an index are stored as their digest. */
export function keyOf(text: string): string {
  if (Buffer.byteLength(text) <= LONGEST_KEY) return text;
  return `sha256:${createHash('sha256').update(text).digest('hex')}`;
}

/** The length of a queue's name in characters, as in Laravel's tables. */
const LONGEST_NAME = 255;

const COLUMNS = `queue, payload, uuid, ${COUNTERS}, available_at, created_at, due_at, place`;

/** Only jobs with lanes need theirs. */
const columnsOf = (jobs: readonly QueuedJob[]): Sql =>
  raw(jobs.some(({ lane }) => lane !== undefined) ? `${COLUMNS}, lane, lane_limit, lane_order` : COLUMNS);

/**
 * The queues of the jobs, sorted, so that pushes that remember several new names do not deadlock.
 * @throws E_INVALID_QUEUE_NAME the name is too long for the column
 */
export function queuesOf(jobs: readonly { readonly queue: string }[]): readonly string[] {
  const queues = [...new Set(jobs.map(({ queue }) => queue))].toSorted();
  const long = queues.find((queue) => queue.length > LONGEST_NAME);
  if (long === undefined) return queues;
  throw invalidQueueName(long, 'push', `the tables hold names of up to ${LONGEST_NAME} characters`);
}

/** Only reads if the queue is already known, so pushes to one queue do not wait for each other. */
export function remember({ queues }: MysqlNames, queue: string, condition = raw('TRUE')): Sql {
  return sql`INSERT IGNORE INTO ${queues} (name)
    SELECT ${queue} FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM ${queues} WHERE name = ${queue}) AND ${condition}`;
}

/** Adds the jobs of a queue at its tail. */
export function insertJobs(names: MysqlNames, queue: string, jobs: readonly QueuedJob[]): readonly Sql[] {
  const own = jobs.filter((job) => job.queue === queue);
  const isLaned = own.some(({ lane }) => lane !== undefined);
  const rows = own.map((job, index) => sql`(${rowOf(job, index, dueOf(job), isLaned)})`);
  const insert = sql`INSERT INTO ${names.jobs} (${columnsOf(own)}) VALUES ${rows}`;
  return [findTail(names, queue), ...(isLaned ? [KEEP_TAIL] : []), insert];
}

/** Adds the jobs of a queue whose conditions hold at its tail. */
export function insertCandidates(names: MysqlNames, queue: string, candidates: readonly Candidate[]): readonly Sql[] {
  const own = candidates.filter(({ job }) => job.queue === queue);
  const inserts = own.map(
    ({ job, condition }, index) =>
      sql`INSERT INTO ${names.jobs} (${columnsOf([job])}) SELECT ${rowOf(job, index)} FROM DUAL WHERE ${condition}`,
  );
  const isLaned = own.some(({ job }) => job.lane !== undefined);
  return [findTail(names, queue), ...(isLaned ? [KEEP_TAIL] : []), ...inserts];
}

/** Adds a job, which is ready at once unless `due` is given. */
export function insertJob(names: MysqlNames, job: QueuedJob, due: Sql | undefined): readonly Sql[] {
  const insert = sql`INSERT INTO ${names.jobs} (${columnsOf([job])}) VALUES (${rowOf(job, 0, due)})`;
  const keep = job.lane === undefined ? [] : [KEEP_TAIL];
  return due === undefined ? [findTail(names, job.queue), ...keep, insert] : [insert];
}

/** Adds the followers of the endings whose ids are in `@onqueue_settled`. */
export function insertFollowers(names: MysqlNames, endings: readonly Ending[]): readonly Sql[] {
  const isSettled = ({ id }: Ending): Sql => sql`FIND_IN_SET(${numeral(id)}, @onqueue_settled) > 0`;
  return queuesOf(followersOf(endings)).flatMap((queue) => {
    const followed = endings.flatMap((ending) => {
      const jobs = followersOf([ending]).filter((job) => job.queue === queue);
      return jobs.length === 0 ? [] : [{ condition: isSettled(ending), jobs }];
    });
    const candidates = followed.flatMap(({ condition, jobs }) => jobs.map((job) => ({ job, condition })));
    const conditions = followed.map(({ condition }) => condition);
    return [remember(names, queue, sql`TRUE IN (${conditions})`), ...insertCandidates(names, queue, candidates)];
  });
}

/** Jobs that lanes let in later keep the places that they would have had. */
const KEEP_TAIL = raw('SET @onqueue_first = @onqueue_tail');

/** @param isLaned whether it has the columns of lanes */
function rowOf(job: QueuedJob, index: number, due = dueOf(job), isLaned = job.lane !== undefined): readonly SqlPart[] {
  const { queue, payload, uuid, counters } = job;
  const isHeld = due === undefined && job.lane !== undefined;
  const place = due === undefined && !isHeld ? sql`@onqueue_tail + ${index + 1}` : null;
  const times = [isHeld ? NEVER : availableAt(due), raw('FLOOR(@onqueue_now)'), isHeld ? HELD_AT : (due ?? null)];
  const values = [queue, Buffer.from(payload), keyOf(uuid), ...valuesOf(counters), ...times, place];
  if (!isLaned) return values;
  const lane = laneColumns(job).map((value) => (typeof value === 'string' ? Buffer.from(value) : value));
  return [...values, ...lane, isHeld ? sql`@onqueue_order + ${index + 1}` : null];
}

/** A job that is inserted if a condition holds. */
export interface Candidate {
  readonly job: QueuedJob;
  readonly condition: Sql;
}

/** Negative for a call that comes too late. As the column is unsigned, the statement fails. */
const LATER = sql`number + (VALUES(number) - number)`;

/**
 * The server's record of each client's last call, so that a call whose answer got lost is neither repeated nor forgotten.
 * See `CallMark`.
 *
 * A statement that we sent and gave up may still arrive. It has no effect then: the record of a later call makes the earlier
 * one's record fail, and with it its transaction.
 *
 * Keeps the client's earlier calls out from here on, and reads what they did into variables.
 */
export function lockCalls({ calls }: MysqlNames, { client, unheard }: CallMark): readonly Sql[] {
  return [
    sql`INSERT IGNORE INTO ${calls} (client, number, called_at) VALUES (${client}, 0, 0)`,
    // The client is the only condition: a row that failed another condition would not stay locked.
    sql`SELECT number IN (${unheard}), IF(number IN (${unheard}), settled, NULL), IF(number IN (${unheard}), lease_until, NULL)
      INTO @onqueue_was_done, @onqueue_before, @onqueue_lease_before
      FROM ${calls} WHERE client = ${client} FOR UPDATE`,
  ];
}

export interface Answer {
  /**
   * Ids of jobs separated by commas, or NULL. For a push: who holds the keys of jobs that were not added, see `recordHeld`.
   */
  readonly settled: Sql;
  /** When the new leases end, or NULL. The jobs are found by it. */
  readonly lease: Sql;
  /** Whether there is anything to record. */
  readonly condition: Sql;
}

/** @param now the time of the call */
export function recordCall({ calls }: MysqlNames, { client, number }: CallMark, now: Sql, answer: Answer): Sql {
  return sql`INSERT INTO ${calls} (client, number, called_at, settled, lease_until)
    SELECT ${client}, ${number}, FLOOR(${now}), ${answer.settled}, ${answer.lease} FROM DUAL WHERE ${answer.condition}
    ON DUPLICATE KEY UPDATE settled = VALUES(settled), lease_until = VALUES(lease_until), called_at = VALUES(called_at),
      number = ${LATER}`;
}

/** For a push that is already recorded: who holds the keys, so that a repetition gets the same answer. */
export function recordHeld({ calls }: MysqlNames, { client }: CallMark): Sql {
  return sql`UPDATE ${calls} SET settled = @onqueue_held WHERE client = ${client} AND @onqueue_held <> ''`;
}

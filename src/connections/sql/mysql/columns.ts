/** The names and columns of the tables in MySQL and MariaDB, as statements use them. */
import type { Seconds } from '../../../base/clock';
import { eachTable, VERSIONS_TABLE, type TableNames } from '../address';
import { identifier } from './pool';
import { raw, sql, numeral, type Sql } from '../statement';
import {
  countCrash,
  countTaken,
  FENCE,
  RESERVED_ORDER,
  type FailedColumns,
  type Line,
  type ReservationToken,
  type NewJob,
} from '../dialect';
import { createHash } from 'node:crypto';

export interface MysqlNames extends Readonly<Record<keyof TableNames, Sql>> {
  /** The index of the jobs table on queue, state and turn. */
  readonly turns: Sql;
  /** The index of the jobs table on the payload's id. */
  readonly ids: Sql;
  /** The index of the jobs table on queue, lane and order. */
  readonly laned: Sql;
  readonly versions: Sql;
}

/** The names of a connection's tables and indexes, as written in statements. */
export function mysqlNames(names: TableNames): MysqlNames {
  return {
    ...eachTable(names, identifier),
    turns: identifier(`${names.jobs}_turns`),
    ids: identifier(`${names.jobs}_ids`),
    laned: identifier(`${names.jobs}_laned`),
    versions: identifier(VERSIONS_TABLE),
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

/**
 * The time by the server's clock: seconds since 1970, to the microsecond. In UTC, as with summer time a local time can occur
 * twice.
 *
 * @param offset seconds to add: 0 outside tests
 */
export const now = (offset: Seconds): Sql =>
  sql`CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) * 0.000001 + ${offset} AS DECIMAL(16, 6))`;

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
    heldAt: HELD_AT,
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

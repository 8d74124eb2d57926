/** The columns of the table of jobs, as the statements see them. */
import type { Seconds } from '../../../base/clock';
import { countCrash, countTaken, FENCE, RESERVED_ORDER } from '../columns';
import type { FailedColumns, Line, ReservationToken } from '../dialect';
import type { NewJob } from '../job-row';
import { raw, type Sql, sql } from '../statement';
import type { MysqlNames } from './mysql-names';

/**
 * What the column `state` holds. With `turn`, the order in which the jobs of a state come up, it is the one index of all
 * queues: both are made of the other columns by the server itself, so that rows of Laravel's have them too.
 */
export const DELAYED = 0;
export const READY = 1;
export const RESERVED = 2;

export const UNHELD = raw('reserved_at = NULL, lease_until = NULL, holder = NULL');

const COMPARISON = { larger: 'GREATEST', smaller: 'LEAST' };
export const COUNT_TAKEN = raw(countTaken(COMPARISON));
export const COUNT_CRASH = raw(countCrash(COMPARISON));

/** Seconds since 1970: the columns of moments end there, in the year 2286. */
export const LATEST = 9_999_999_999;

/** Beyond it `turn` has no room left: nothing is put in line there. */
export const MOST_PLACE = 1e11;

/**
 * Seconds since 1970, to the microsecond, by the server's clock. In UTC: a moment of a zone with summer time may come twice.
 *
 * @param offset seconds to add: 0 outside tests
 */
export const now = (offset: Seconds): Sql =>
  sql`CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) * 0.000001 + ${offset} AS DECIMAL(16, 6))`;

export function mysqlLine({ jobs, turns }: MysqlNames): Line {
  const state = (number: number): Sql => sql`state = ${number}`;
  return {
    of: (queue) => sql`FROM ${jobs} FORCE INDEX (${turns}) WHERE queue = ${queue}`,
    state: { ready: state(READY), delayed: state(DELAYED), reserved: state(RESERVED) },
    at: { delayed: raw('turn'), reserved: raw('turn') },
    order: { ready: TURN, delayed: TURN, reserved: RESERVED_ORDER },
    along: { reserved: raw('turn') },
    hasLease: raw('turn IS NOT NULL'),
    payload: (payload) => payload,
  };
}

const TURN = [raw('turn'), raw('id')];

/** Sets `@onqueue_tail` to the last place in line. */
export function findTail({ jobs, turns }: MysqlNames, queue: string): Sql {
  return sql`SELECT COALESCE(MAX(turn), 0) INTO @onqueue_tail FROM ${jobs} FORCE INDEX (${turns})
    WHERE queue = ${queue} AND state = ${READY} AND turn <= ${MOST_PLACE}`;
}

/** When it is due, where it waits: undefined, where it is ready at once. One that waits for a moment which has passed is due. */
export function dueOf({ delay, due }: Pick<NewJob, 'delay' | 'due'>): Sql | undefined {
  if (due !== undefined) return sql`CAST(${Math.min(due, LATEST)} AS DECIMAL(16, 6))`;
  return delay > 0 ? sql`LEAST(@onqueue_now + ${delay}, ${LATEST})` : undefined;
}

/** Laravel's column is whole seconds of four bytes: what is ready is so at once for it as well, and nothing too early. */
export const availableAt = (due: Sql | undefined): Sql =>
  due === undefined ? raw('FLOOR(@onqueue_now)') : sql`LEAST(CEIL(${due}), 4294967295)`;

/** The jobs of these tokens that are still held. */
export function heldBy(tokens: readonly ReservationToken[]): Sql {
  const pairs = tokens.map(({ id, fence }) => sql`(${id}, ${fence})`);
  return sql`id IN (${tokens.map(({ id }) => id)}) AND reserved_at IS NOT NULL AND (id, ${raw(FENCE)}) IN (${pairs})`;
}

/** @param current the moment, as a value */
export function failedColumns(current: () => Sql): FailedColumns {
  // Laravel has written whole seconds.
  const failedAt = raw('COALESCE(failed_ms, UNIX_TIMESTAMP(failed_at) * 1000)');
  return {
    // Else it goes along the whole queue for each place in it.
    alongQueue: raw('FORCE INDEX (onqueue_queue)'),
    all: raw('TRUE'),
    payload: raw('payload'),
    payloadOf: (value) => value as Buffer,
    storedPayload: (payload) => ({ payload }),
    hasPayload: (payload) => sql`payload = ${payload}`,
    failedAt,
    failedNow: () => ({
      failed_at: sql`FROM_UNIXTIME(FLOOR(${current()}))`,
      failed_ms: sql`ROUND(${current()} * 1000)`,
    }),
    isOlder: (age) => sql`${failedAt} < (${current()} - ${age}) * 1000`,
  };
}

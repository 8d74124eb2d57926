/** The rows of the table of jobs, as the statements see them. */
import type { Seconds } from '../../../base/clock';
import type { NewJob } from '../job-row';
import type { ReservationToken } from '../dialect';
import { COUNTERS as COUNTER_COLUMNS, MOST_COUNTED } from '../job-row';
import { raw, type Sql, sql } from '../statement';

/**
 * What the column `state` holds. With `turn`, the order in which the jobs of a state come up, it is the one index of all
 * queues: both are made of the other columns by the server itself, so that rows of Laravel's have them too.
 */
export const DELAYED = 0;
export const READY = 1;
export const RESERVED = 2;

export const COUNTERS = raw(COUNTER_COLUMNS);
export const JOB = sql`id, payload, ${COUNTERS}, cancelled`;

/** Grows by one with each reservation of a job: with its id it tells a reservation from all others. */
export const FENCE = raw('attempts + crashes + releases');

/** What stands there may not have been counted by us: see `MOST_COUNTED`. */
export const sane = (counter: string): Sql => raw(`LEAST(GREATEST(${counter}, 0), ${MOST_COUNTED})`);
const OTHERS = ['crashes', 'exceptions', 'timeouts', 'releases'];
export const OTHER_COUNTERS = raw(OTHERS.map((name) => `${name} = ${sane(name).text}`).join(', '));

/** Seconds since 1970: the columns of moments end there, in the year 2286. */
const LATEST = 9_999_999_999;

/** Beyond it `turn` has no room left: nothing is put in line there. */
export const MOST_PLACE = 1e11;

/**
 * Seconds since 1970, to the microsecond, by the server's clock. In UTC: a moment of a zone with summer time may come twice.
 *
 * @param offset seconds to add: 0 outside tests
 */
export const now = (offset: Seconds): Sql =>
  sql`CAST(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) * 0.000001 + ${offset} AS DECIMAL(16, 6))`;

/** Later than all moments that a pause may end at. */
export const FOR_EVER = 9_999_999_999_999;

/** When a pause ends, seconds since 1970. */
export const PAUSED_UNTIL = sql`COALESCE(ends_at, ${FOR_EVER})`;

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
  return sql`id IN (${tokens.map(({ id }) => id)}) AND reserved_at IS NOT NULL AND (id, ${FENCE}) IN (${pairs})`;
}

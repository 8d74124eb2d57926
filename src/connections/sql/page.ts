/** The jobs of a state, page by page: an index leads to each, whatever stands before it. */
import { MOST_BYTES, MOST_JOBS } from '../../base/pages';
import type { WaitingState } from '../contract';
import type { Dialect } from './dialect';
import { COUNTERS, jobOf, type StoredJob } from './job-row';
import { rowLimit } from './jobs';
import { raw, rowsOf, type Sql, sql, type Work } from './statement';

/** `place`: what others are shown behind. */
export interface ShownJob extends StoredJob {
  readonly place: string | undefined;
}

/** Jobs that may share a place in line, where an index does not tell them apart: of workers that reclaim some at once. */
const MOST_SHARING = 100;

/**
 * What no job stands behind. As a bound it leads PostgreSQL along the index: of a table that was never analysed it would
 * else read all rows, and sort them.
 */
export const BEFORE_ALL = Number.MIN_SAFE_INTEGER;

/** Up to 100 jobs, or 1 MiB of their texts; always one. @param after the `place` of one before them */
export function* peek(
  { line, read }: Dialect,
  queue: string,
  state: WaitingState,
  limit: number,
  after?: string,
): Work<readonly ShownJob[]> {
  const order = line.order[state];
  const along = line.along?.[state];
  const most = Math.min(rowLimit(limit), MOST_JOBS);
  const keys = order.map((_, index) => raw(`key_${index}`));
  const named = order.map((column, index) => sql`${column} AS ${keys[index]!}`);
  const at = state === 'ready' ? raw('NULL') : line.at[state];
  const runs = runsBehind(order, after).map(
    (isInRun) => sql`SELECT * FROM (
      SELECT id, ${read('payload')} AS text, ${raw(COUNTERS)}, cancelled, ${at} AS moment, ${named}, OCTET_LENGTH(payload) AS size
      ${line.of(queue)} AND ${line.state[state]} AND ${isInRun}
      ORDER BY ${along ?? order} LIMIT ${along === undefined ? most : most + MOST_SHARING}
    ) AS run`,
  );
  const rows = yield* rowsOf(
    sql`SELECT id, text, ${raw(COUNTERS)}, cancelled, moment, ${keys} FROM (
        SELECT page.*, SUM(size) OVER (ORDER BY ${keys} ROWS UNBOUNDED PRECEDING) AS total
        FROM (${runs.reduce((some, run) => sql`${some} UNION ALL ${run}`)}) AS page
      ) AS counted WHERE total <= ${MOST_BYTES} OR total = size ORDER BY ${keys} LIMIT ${most}`,
  );
  return rows.map((row) => ({ ...jobOf(row), place: placeOf(row.slice(-order.length).map(Number)) }));
}

/** Conditions that meet what comes behind a place, one after the other: by one for all, an index would not lead there. */
function runsBehind([first, ...rest]: readonly Sql[], after: string | undefined): readonly Sql[] {
  const values = (after ?? '').split(':').map(Number);
  if (values.length !== rest.length + 1 || !values.every(Number.isFinite)) return [sql`${first!} > ${BEFORE_ALL}`];
  const [value, ...others] = values;
  return [sql`${first!} = ${value!} AND ${isBehind(rest, others)}`, sql`${first!} > ${value!}`];
}

function isBehind([column, ...columns]: readonly Sql[], [value, ...values]: readonly number[]): Sql {
  const isGreater = sql`${column!} > ${value!}`;
  return columns.length === 0
    ? isGreater
    : sql`(${isGreater} OR ${column!} = ${value!} AND ${isBehind(columns, values)})`;
}

/** Undefined: somebody has put a text where a number belongs. */
const placeOf = (values: readonly number[]): string | undefined =>
  values.every(Number.isFinite) ? values.join(':') : undefined;

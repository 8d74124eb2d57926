/** The jobs of a state, page by page: an index leads to each, whatever stands before it. */
import { endOfPage, MOST_JOBS } from '../../base/pages';
import type { WaitingState } from '../contract';
import { type Dialect, isTrue, type Line } from './dialect';
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
/** What stands behind none of them: together the two make it expect few. */
export const AFTER_ALL = Number.MAX_SAFE_INTEGER;

/** Up to 100 jobs, or 1 MiB of their texts; always one. @param after the `place` of one before them */
export function* peek(
  { line, read, tables }: Dialect,
  queue: string,
  state: WaitingState,
  limit: number,
  after?: string,
): Work<readonly ShownJob[]> {
  const order = line.order[state];
  const most = Math.min(rowLimit(limit), MOST_JOBS);
  const keys = order.map((_, index) => raw(`key_${index}`));
  const named = order.map((column, index) => sql`${column} AS ${keys[index]!}`);
  const runs = runsBehind(line, queue, state, most, after).map(
    (run) => sql`SELECT * FROM (
      SELECT id, OCTET_LENGTH(payload) AS size, ${named} ${run.jobs} ORDER BY ${run.by} LIMIT ${run.most}
    ) AS run`,
  );
  // Without their texts: MariaDB writes a result that has such to its disk before it sorts it.
  const found = yield* rowsOf(
    sql`${runs.reduce((some, run) => sql`${some} UNION ALL ${run}`)} ORDER BY ${keys} LIMIT ${most}`,
  );
  const page = found.slice(
    0,
    endOfPage(found, ([, size]) => Number(size)),
  );
  if (page.length === 0) return [];
  const at = state === 'ready' ? raw('NULL') : line.at[state];
  const ids = page.map(([id = null]) => id);
  // Its state is no condition: PostgreSQL might go along the index of all that have it.
  const rows = yield* rowsOf(
    sql`SELECT ${line.state[state]}, id, ${read('payload')}, ${raw(COUNTERS)}, cancelled, ${at} FROM ${tables.jobs} WHERE id IN (${ids})`,
  );
  const jobs = new Map(
    rows.filter(([isStill]) => isTrue(isStill!)).map(([, id, ...row]) => [Number(id), jobOf([id, ...row])]),
  );
  return page.flatMap(([id, , ...values]) => {
    const job = jobs.get(Number(id));
    return job === undefined ? [] : [{ ...job, place: placeOf(values.map(Number)) }];
  });
}

/** The first of what a state stands in order by, as an index leads along it. */
export const leadOf = ({ order, at }: Line, state: WaitingState): Sql =>
  state === 'reserved' ? at.reserved : order[state][0]!;

/** The jobs that an index leads to along that, as `FROM … WHERE …`: all but reserved ones without a lease. */
export function ledJobs(line: Line, queue: string, state: WaitingState): Sql {
  const jobs = sql`${line.of(queue)} AND ${line.state[state]}`;
  return state === 'reserved' ? sql`${jobs} AND ${line.hasLease}` : jobs;
}

/** Those of other programs. */
export const unledJobs = (line: Line, queue: string): Sql =>
  sql`${line.of(queue)} AND ${line.state.reserved} AND ${line.at.reserved} IS NULL`;

/** Jobs that come up one after the other. */
interface Run {
  readonly jobs: Sql;
  readonly by: Sql | readonly Sql[];
  readonly most: number;
}

/** What comes behind a place, by conditions each of which an index serves: to one for all of them it would not lead. */
function runsBehind(
  line: Line,
  queue: string,
  state: WaitingState,
  most: number,
  after: string | undefined,
): readonly Run[] {
  const [by, along] = [line.order[state], line.along?.[state]];
  const [lead, rest, led] = [leadOf(line, state), by.slice(1), ledJobs(line, queue, state)];
  const behind = (value: number): Run => {
    const jobs = sql`${led} AND ${lead} > ${value}`;
    return along === undefined ? { jobs, by, most } : { jobs, by: along, most: most + MOST_SHARING };
  };
  const unled = unledJobs(line, queue);
  const values = (after ?? '').split(':').map(Number);
  if (values.length !== by.length || !values.every(Number.isFinite))
    return state === 'reserved' ? [{ jobs: unled, by, most }, behind(BEFORE_ALL)] : [behind(BEFORE_ALL)];
  const [value, ...others] = values as [number, ...number[]];
  const isBehindIt = isBehind(rest, others);
  const at = { jobs: sql`${led} AND ${lead} = ${value} AND ${isBehindIt}`, by, most };
  const runs = [at, behind(value)];
  return state === 'reserved' && value === 0 ? [{ jobs: sql`${unled} AND ${isBehindIt}`, by, most }, ...runs] : runs;
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

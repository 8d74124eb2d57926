/** Lists the jobs of a state page by page. An index leads to each page, however many jobs come before it. */
import { endOfPage, MOST_JOBS } from '../../base/collections';
import type { WaitingState } from '../contract';
import { isTrue, type Dialect, type Line } from './dialect';
import { COUNTERS, jobOf, type StoredJob } from './job-row';
import { rowLimit } from './jobs';
import { numeral, raw, rowsOf, sql, type RowId, type Sql, type SqlRow, type SqlValue, type Work } from './statement';

/** `place`: where the next page continues. */
export interface ShownJob extends StoredJob {
  readonly place: string | undefined;
}

/**
 * The number of jobs that may share a place in line, as happens when workers reclaim some at once; the index does not tell
 * them apart.
 */
const MOST_SHARING = 100;

/**
 * Below every key. As a bound it makes PostgreSQL use the index; it would read and sort all rows of a table that was never
 * analysed.
 */
export const BEFORE_ALL = Number.MIN_SAFE_INTEGER;
/** Above every id. With both bounds PostgreSQL expects few rows. */
export const AFTER_ALL = '9223372036854775807';

/** Up to 100 jobs or 1 MiB of payloads, at least one job. @param after the `place` of the job before the page */
export function* peek(
  { line, read, tables }: Dialect,
  queue: string,
  state: WaitingState,
  limit: number,
  after?: string,
): Work<readonly ShownJob[]> {
  // Without payloads, as MariaDB writes results with such columns to disk before it sorts them.
  const found = yield* linedUp(line, queue, state, Math.min(rowLimit(limit), MOST_JOBS), after);
  const page = found.slice(
    0,
    endOfPage(found, ({ size }) => size),
  );
  if (page.length === 0) return [];
  const at = state === 'ready' ? raw('NULL') : line.at[state];
  const ids = page.map(({ id }) => id);
  // The state is not a condition, or PostgreSQL might scan the index of all jobs in that state.
  const rows = yield* rowsOf(
    sql`SELECT ${line.state[state]}, id, ${read('payload')}, ${raw(COUNTERS)}, cancelled, ${at} FROM ${tables.jobs} WHERE id IN (${ids.map(numeral)})`,
  );
  const jobs = new Map(
    rows.filter(([isStill]) => isTrue(isStill)).map(([, id, ...row]) => [String(id), jobOf([id, ...row])]),
  );
  return page.flatMap(({ id, place }) => {
    const job = jobs.get(id);
    return job === undefined ? [] : [{ ...job, place }];
  });
}

/** A job in its line. */
interface LinedUp {
  readonly id: RowId;
  /** The bytes of its payload. */
  readonly size: number;
  readonly place: string | undefined;
}

/** The next jobs of a state, in order. @param after the place of the job before them; absent: the first ones */
export function* linedUp(
  line: Line,
  queue: string,
  state: WaitingState,
  most: number,
  after: string | undefined,
): Work<readonly LinedUp[]> {
  const order = line.order[state];
  const keys = order.map((_, index) => raw(`key_${index}`));
  const named = order.map((column, index) => sql`${column} AS ${keys[index]!}`);
  const runs = runsBehind(line, queue, state, most, after).map(
    (run) => sql`SELECT * FROM (
      SELECT id, OCTET_LENGTH(payload) AS size, ${named} ${run.jobs} ORDER BY ${run.by} LIMIT ${run.most}
    ) AS run`,
  );
  const found = yield* rowsOf(
    sql`${runs.reduce((some, run) => sql`${some} UNION ALL ${run}`)} ORDER BY ${keys} LIMIT ${most}`,
  );
  return found.map(([id, size, ...values]) => ({
    id: String(id),
    size: Number(size),
    place: placeOf(values),
  }));
}

/** The first column of a state's order, which its index begins with. */
export const leadOf = ({ order, at }: Line, state: WaitingState): Sql =>
  state === 'reserved' ? at.reserved : order[state][0]!;

/** The jobs found by that index, as `FROM … WHERE …`: all but reserved jobs without a lease. */
export function ledJobs(line: Line, queue: string, state: WaitingState): Sql {
  const jobs = sql`${line.of(queue)} AND ${line.state[state]}`;
  return state === 'reserved' ? sql`${jobs} AND ${line.hasLease}` : jobs;
}

/** The reserved jobs without a lease, which are those of other programs. */
export const unledJobs = (line: Line, queue: string): Sql =>
  sql`${line.of(queue)} AND ${line.state.reserved} AND ${line.at.reserved} IS NULL`;

/** A part of the page, in order. */
interface Run {
  readonly jobs: Sql;
  readonly by: Sql | readonly Sql[];
  readonly most: number;
}

/** What comes after a place, as several queries: an index serves each of their conditions, but not all combined. */
function runsBehind(
  line: Line,
  queue: string,
  state: WaitingState,
  most: number,
  after: string | undefined,
): readonly Run[] {
  const [by, along] = [line.order[state], line.along?.[state]];
  const [lead, rest, led] = [leadOf(line, state), by.slice(1), ledJobs(line, queue, state)];
  const behind = (value: Sql | SqlValue): Run => {
    const jobs = sql`${led} AND ${lead} > ${value}`;
    return along === undefined ? { jobs, by, most } : { jobs, by: along, most: most + MOST_SHARING };
  };
  const unled = unledJobs(line, queue);
  const values = (after ?? '').split(':').map(numeral);
  if (values.length !== by.length || !values.every(isNumeral))
    return state === 'reserved' ? [{ jobs: unled, by, most }, behind(BEFORE_ALL)] : [behind(BEFORE_ALL)];
  const [value, ...others] = values as [Sql, ...Sql[]];
  const isBehindIt = isBehind(rest, others);
  const at = { jobs: sql`${led} AND ${lead} = ${value} AND ${isBehindIt}`, by, most };
  const runs = [at, behind(value)];
  return state === 'reserved' && Number(value.text) === 0
    ? [{ jobs: sql`${unled} AND ${isBehindIt}`, by, most }, ...runs]
    : runs;
}

function isBehind([column, ...columns]: readonly Sql[], [value, ...values]: readonly Sql[]): Sql {
  const isGreater = sql`${column!} > ${value!}`;
  return columns.length === 0
    ? isGreater
    : sql`(${isGreater} OR ${column!} = ${value!} AND ${isBehind(columns, values)})`;
}

/** Undefined if somebody has put text where a number belongs. */
const placeOf = (values: readonly SqlValue[]): string | undefined =>
  values.map(String).map(numeral).every(isNumeral) ? values.join(':') : undefined;

const isNumeral = (value: Sql | SqlValue): boolean => typeof value === 'object';

/**
 * The row that follows so many others. Goes step by step, as a statement reads whatever it skips.
 *
 * @param next selects the row so many places behind `from`
 */
export function* rowAfter(
  count: number,
  step: number,
  first: SqlRow,
  next: (from: SqlRow, skipped: number) => Sql,
): Work<SqlRow | undefined> {
  let from: SqlRow | undefined = first;
  let left = rowLimit(count);
  do {
    const skipped = Math.min(left, step);
    [from] = yield* rowsOf(next(from, skipped));
    left -= skipped;
  } while (from !== undefined && left > 0);
  return from;
}

/** Queries about waiting and running jobs that are the same for every database. */
import { readId } from '../../payload/counters';
import type { WaitingState, CancelResult } from '../contract';
import {
  FENCE,
  RESERVED,
  tiedIn,
  COUNTERS,
  jobOf,
  shownText,
  isTrue,
  type Dialect,
  type QueuedJob,
  type Removed,
  type ReservationToken,
  type StoredJob,
  type Line,
  type LineState,
} from './dialect';
import {
  numeral,
  raw,
  rowsOf,
  run,
  sql,
  valueOf,
  written,
  type RowId,
  type Sql,
  type Work,
  type SqlRow,
  type SqlValue,
} from './statement';
import { endOfPage, MOST_JOBS } from '../../base/collections';

const isHeld = raw(RESERVED);

/** Seconds for which the last answer to a client is kept. */
const RECORD_KEPT = 86_400;
/** Other clients' records that one call removes. */
const SWEPT = 100;

/** A valid number of rows: finite and an integer. */
export const rowLimit = (limit: number): number => Math.min(Math.max(Math.ceil(limit), 0), Number.MAX_SAFE_INTEGER);

export interface FoundJob extends StoredJob {
  readonly queue: string;
  readonly state: WaitingState;
}

/**
 * Several jobs may have this id: prefers a running one, then the first. `unread`: it may be one of another program, whose payload's
 * id nobody has read yet.
 */
export function* find(dialect: Dialect, id: string, queue: string | undefined): Work<FoundJob | 'unread' | undefined> {
  const { line, read } = dialect;
  const { delayed, reserved } = line.state;
  const [row] = yield* rowsOf(
    sql`SELECT id, ${read('payload')}, ${raw(COUNTERS)}, cancelled,
        CASE WHEN ${reserved} THEN ${line.at.reserved} WHEN ${delayed} THEN ${line.at.delayed} END, ${read('queue')},
        CASE WHEN ${reserved} THEN 'reserved' WHEN ${delayed} THEN 'delayed' ELSE 'ready' END
      ${withId(dialect, id, queue)} ORDER BY CASE WHEN ${isHeld} THEN 0 ELSE 1 END, id LIMIT 1`,
  );
  if (row !== undefined) return { ...jobOf(row), queue: String(row.at(-2)), state: String(row.at(-1)) as WaitingState };
  return (yield* rowsOf(sql`SELECT id ${unreadJobs(dialect)} LIMIT 1`)).length > 0 ? 'unread' : undefined;
}

/** `uuid <> ''` is repeated here so that a partial index without empty ids can be used. */
export function withId({ tables, key }: Dialect, id: string, queue: string | undefined): Sql {
  const isThere = queue === undefined ? raw('') : sql`AND queue = ${queue}`;
  return sql`FROM ${tables.jobs} WHERE uuid = ${key(id)} AND uuid <> '' ${isThere}`;
}

/**
 * The index of the first job that must be unique and is not: the same text comes before it in this call, or is already
 * delayed.
 *
 * @param find selects delayed jobs with the same text; undefined if the job is ready at once
 */
export function* firstTwin(
  jobs: readonly QueuedJob[],
  find: (job: QueuedJob) => Sql | undefined,
): Work<number | undefined> {
  const texts = new Set<string>();
  for (const [index, job] of jobs.entries()) {
    const twin = job.unique ? find(job) : undefined;
    if (twin === undefined) continue;
    const text = `${job.queue}\n${String(job.payload)}`;
    if (texts.has(text) || (yield* rowsOf(twin)).length > 0) return index;
    texts.add(text);
  }
  return undefined;
}

export function* queues({ tables, read }: Dialect): Work<readonly string[]> {
  const rows = yield* rowsOf(sql`SELECT ${read('name')} FROM ${tables.queues} ORDER BY name`);
  return rows.map(([name]) => String(name));
}

/** Whether the queue was known, and has no jobs. */
export function* forgetQueue({ tables, failed, insertNew }: Dialect, queue: string): Work<boolean> {
  function* isEmpty(): Work<boolean> {
    const jobs = sql`SELECT 1 FROM ${tables.jobs} WHERE queue = ${queue} LIMIT 1`;
    const failures = sql`SELECT 1 FROM ${tables.failed} ${failed.alongQueue} WHERE queue = ${queue} LIMIT 1`;
    return (yield* rowsOf(jobs)).length + (yield* rowsOf(failures)).length === 0;
  }
  if (!(yield* isEmpty())) return false;
  const wasKnown = (yield* written(sql`DELETE FROM ${tables.queues} WHERE name = ${queue}`)) > 0;
  if (yield* isEmpty()) {
    yield* written(sql`DELETE FROM ${tables.orders} WHERE kind = 'pause' AND value = ${queue}`);
    yield* written(sql`DELETE FROM ${tables.lanes} WHERE queue = ${queue}`);
    return wasKnown;
  }
  // Somebody has pushed meanwhile.
  yield* written(insertNew(tables.queues, { name: queue }));
  return false;
}

export interface Cancelled extends Pick<Removed, 'tied'> {
  /** `raced`: it was reserved or released meanwhile. */
  readonly result: CancelResult | 'raced';
  /** The job that is gone. */
  readonly left?: { readonly queue: string; readonly payload: Buffer };
}

export function* cancel(
  dialect: Dialect,
  id: string,
  queue: string | undefined,
  reason: string | undefined,
): Work<Cancelled> {
  const { tables, tiedEnd, read, lanes } = dialect;
  const { jobs } = tables;
  const [[isReserved, end = null, own, lane = null, ...job] = []] = yield* rowsOf(
    sql`SELECT CASE WHEN ${isHeld} THEN 1 ELSE 0 END, ${tiedEnd}, ${read('queue')}, ${read('lane')},
        id, ${read('payload')}, ${raw(COUNTERS)}, cancelled, NULL ${withId(dialect, id, queue)} ORDER BY 1 DESC, id LIMIT 1`,
  );
  if (job === undefined || isReserved === undefined) return { result: 'unknown', tied: [] };
  const row = numeral(job[0]!);
  const isLaned = lane !== null && Number(isReserved) === 0;
  if (isLaned) yield* lanes.lock(String(own), String(lane));
  const change =
    Number(isReserved) === 0
      ? sql`DELETE FROM ${jobs} WHERE id = ${row} AND reserved_at IS NULL`
      : sql`UPDATE ${jobs} SET cancelled = TRUE, cancel_reason = ${reason ?? null} WHERE id = ${row} AND ${isHeld}`;
  if ((yield* written(change)) === 0) return { result: 'raced', tied: [] };
  if (Number(isReserved) !== 0) return { result: 'signalled', tied: [] };
  if (isLaned) yield* lanes.letIn(String(own), [String(lane)]);
  return { result: 'removed', tied: tiedIn([end]), left: { queue: String(own), payload: shownText(jobOf(job)) } };
}

/** Those of the jobs that were cancelled, each with the reason, or true if there is none. */
export function* cancelledOf(
  { tables, read }: Dialect,
  ids: readonly RowId[],
): Work<ReadonlyMap<RowId, true | string>> {
  if (ids.length === 0) return new Map();
  const reasons = sql`SELECT id, ${read('cancel_reason')} FROM ${tables.jobs} WHERE id IN (${ids.map(numeral)}) AND cancelled`;
  const rows = yield* rowsOf(reasons);
  return new Map(rows.map(([id, reason = null]) => [String(id), reason === null ? true : String(reason)]));
}

/** Jobs of other programs, whose payload's ids nobody has read. */
const unreadJobs = ({ tables }: Dialect): Sql => sql`FROM ${tables.jobs} WHERE uuid IS NULL ORDER BY id`;

/**
 * Reads the payload ids of some jobs that other programs inserted, so that they can be found by id. Returns false if there
 * were none left.
 */
export function* readSomeIds(dialect: Dialect, most: number): Work<boolean> {
  const { tables, read, key, runTogether } = dialect;
  const { jobs } = tables;
  const unread = yield* rowsOf(sql`SELECT id, ${read('payload')} ${unreadJobs(dialect)} LIMIT ${most}`);
  if (unread.length === 0) return false;
  yield* runTogether(
    unread.map(([id, payload]) => {
      const uuid = readId(Buffer.from(payload as string)) ?? '';
      return sql`UPDATE ${jobs} SET uuid = ${key(uuid)} WHERE id = ${numeral(id!)} AND uuid IS NULL`;
    }),
  );
  return true;
}

/** Gives reserved jobs a new payload that contains their id. */
export function rewrite({ tables, line, key, runTogether }: Dialect, jobs: readonly Rewritten[]): Work<unknown> {
  return runTogether(
    jobs.map(
      ({ id, fence, payload, uuid }) =>
        sql`UPDATE ${tables.jobs} SET payload = ${line.payload(payload)}, uuid = ${key(uuid)}
          WHERE id = ${numeral(id)} AND ${isHeld} AND ${raw(FENCE)} = ${fence}`,
    ),
  );
}

export interface Rewritten extends ReservationToken {
  readonly payload: Buffer;
  readonly uuid: string;
}

/** Forgets the last answers to these clients, and those to any client that are older than a day. */
export function* forgetCalls({ tables, now, remove, skipLocked }: Dialect, clients: readonly string[]): Work<void> {
  const { calls } = tables;
  yield* run(sql`DELETE FROM ${calls} WHERE client IN (${clients})`);
  const old = sql`SELECT client FROM ${calls} WHERE called_at < ${now()} - ${RECORD_KEPT} LIMIT ${SWEPT} ${skipLocked}`;
  yield* run(remove(calls, ['client'], old));
}

/** Seconds since 1970. */
export function* timeOf(dialect: Pick<Dialect, 'now'>): Work<number> {
  return Number(yield* valueOf(sql`SELECT ${dialect.now()}`));
}

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

/** Before the place of a job that its lane holds. */
const HELD_MARK = 'h';

/** Up to 100 jobs or 1 MiB of payloads, at least one job. @param after the `place` of the job before the page */
export function* peek(
  { line, read, tables }: Dialect,
  queue: string,
  state: WaitingState,
  limit: number,
  after?: string,
): Work<readonly ShownJob[]> {
  const most = Math.min(rowLimit(limit), MOST_JOBS);
  const isBehind = state === 'ready' && after?.startsWith(HELD_MARK) === true;
  // Without payloads, as MariaDB writes results with such columns to disk before it sorts them.
  const inLine = isBehind ? [] : yield* linedUp(line, queue, state, most, after);
  const last = isBehind ? after.slice(HELD_MARK.length) : undefined;
  const held =
    state !== 'ready' || inLine.length === most ? [] : yield* linedUp(line, queue, 'held', most - inLine.length, last);
  const found = [...inLine, ...held.map((job) => ({ ...job, place: job.place && HELD_MARK + job.place }))];
  const page = found.slice(
    0,
    endOfPage(found, ({ size }) => size),
  );
  if (page.length === 0) return [];
  const at = state === 'ready' ? raw('NULL') : line.at[state];
  const isStill = state === 'ready' ? sql`(${line.state.ready} OR ${line.state.held})` : line.state[state];
  const ids = page.map(({ id }) => id);
  // The state is not a condition, or PostgreSQL might scan the index of all jobs in that state.
  const rows = yield* rowsOf(
    sql`SELECT ${isStill}, id, ${read('payload')}, ${raw(COUNTERS)}, cancelled, ${at} FROM ${tables.jobs} WHERE id IN (${ids.map(numeral)})`,
  );
  const jobs = new Map(rows.filter(([is]) => isTrue(is)).map(([, id, ...row]) => [String(id), jobOf([id, ...row])]));
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
  state: LineState,
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
export const leadOf = ({ order, at }: Line, state: LineState): Sql =>
  state === 'reserved' ? at.reserved : order[state][0]!;

/** The jobs found by that index, as `FROM … WHERE …`: all but reserved jobs without a lease. */
export function ledJobs(line: Line, queue: string, state: LineState): Sql {
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
  state: LineState,
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

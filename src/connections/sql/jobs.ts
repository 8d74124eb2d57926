/** Queries about waiting and running jobs that are the same for every database. */
import { readId } from '../../payload/counters';
import type { WaitingState, CancelResult } from '../contract';
import { FENCE, RESERVED } from './columns';
import { tiedIn, type Dialect, type QueuedJob, type Removed, type ReservationToken } from './dialect';
import { COUNTERS, jobOf, type StoredJob } from './job-row';
import { numeral, raw, rowsOf, run, sql, valueOf, written, type RowId, type Sql, type Work } from './statement';

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

/** Several jobs may have this id: prefers a running one, then the first. */
export function* find(dialect: Dialect, id: string, queue: string | undefined): Work<FoundJob | undefined> {
  const { line, read } = dialect;
  const { ready, delayed, reserved } = line.state;
  const [row] = yield* rowsOf(
    sql`SELECT id, ${read('payload')}, ${raw(COUNTERS)}, cancelled,
        CASE WHEN ${reserved} THEN ${line.at.reserved} WHEN ${delayed} THEN ${line.at.delayed} END, ${read('queue')},
        CASE WHEN ${reserved} THEN 'reserved' WHEN ${ready} THEN 'ready' ELSE 'delayed' END
      ${withId(dialect, id, queue)} ORDER BY CASE WHEN ${isHeld} THEN 0 ELSE 1 END, id LIMIT 1`,
  );
  return row && { ...jobOf(row), queue: String(row.at(-2)), state: String(row.at(-1)) as WaitingState };
}

/** `uuid <> ''` is repeated here so that a partial index without empty ids can be used. */
function withId({ tables, key }: Dialect, id: string, queue: string | undefined): Sql {
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
    return wasKnown;
  }
  // Somebody has pushed meanwhile.
  yield* written(insertNew(tables.queues, { name: queue }));
  return false;
}

export interface Cancelled extends Pick<Removed, 'tied'> {
  /** `raced`: it was reserved or released meanwhile. */
  readonly result: CancelResult | 'raced';
}

export function* cancel(
  dialect: Dialect,
  id: string,
  queue: string | undefined,
  reason: string | undefined,
): Work<Cancelled> {
  const { tables, tiedEnd } = dialect;
  const { jobs } = tables;
  const [[job, isReserved, end = null] = []] = yield* rowsOf(
    sql`SELECT id, CASE WHEN ${isHeld} THEN 1 ELSE 0 END, ${tiedEnd} ${withId(dialect, id, queue)}
      ORDER BY 2 DESC, id LIMIT 1`,
  );
  if (job === undefined) return { result: 'unknown', tied: [] };
  const row = numeral(job);
  const change =
    Number(isReserved) === 0
      ? sql`DELETE FROM ${jobs} WHERE id = ${row} AND reserved_at IS NULL`
      : sql`UPDATE ${jobs} SET cancelled = TRUE, cancel_reason = ${reason ?? null} WHERE id = ${row} AND ${isHeld}`;
  if ((yield* written(change)) === 0) return { result: 'raced', tied: [] };
  if (Number(isReserved) !== 0) return { result: 'signalled', tied: [] };
  return { result: 'removed', tied: tiedIn([end]) };
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

/**
 * Reads the payload ids of some jobs that other programs inserted, so that they can be found by id. Returns false if there
 * were none left.
 */
export function* readSomeIds({ tables, read, key, runTogether }: Dialect, most: number): Work<boolean> {
  const { jobs } = tables;
  const unread = yield* rowsOf(
    sql`SELECT id, ${read('payload')} FROM ${jobs} WHERE uuid IS NULL ORDER BY id LIMIT ${most}`,
  );
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

/**
 * Counts the jobs of a queue, and removes them. Large numbers are counted in pieces, as one statement over a million rows would block the
 * store or this process: run the work in pieces.
 */
import type { Counts } from '../contract';
import { LINE_STATES, type Dialect, type LineState, type Removed } from './dialect';
import { BEFORE_ALL, ledJobs, leadOf, unledJobs, AFTER_ALL, linedUp } from './jobs';
import { numeral, rowsOf, sql, valueOf, raw, type Sql, type SqlValue, type Work, type RowId } from './statement';

/** Jobs that one statement counts: 5,000 took MariaDB more than 5 ms on a slow machine. */
export const MOST_AT_ONCE = 3000;

export function* countJobs(dialect: Dialect, queue: string): Work<Counts> {
  const { line } = dialect;
  const counted = { ...(yield* counts(dialect, queue)) };
  for (const each of LINE_STATES) {
    if (counted[each] <= MOST_AT_ONCE) continue;
    const rest = line.order[each].slice(1);
    counted[each] = yield* countAlong(dialect, ledJobs(line, queue, each), [leadOf(line, each), ...rest]);
    if (each === 'reserved') counted[each] += yield* countAlong(dialect, unledJobs(line, queue), rest);
  }
  const { held, ...all } = counted;
  return { ...all, ready: all.ready + held };
}

/** @param rows `FROM … WHERE …`, found by an index on the key */
export function* countMany(dialect: Dialect, rows: Sql, key: Sql): Work<number> {
  const count = yield* countOf(dialect, sql`${rows} ORDER BY ${key}`);
  return count > MOST_AT_ONCE ? yield* countAlong(dialect, rows, [key]) : count;
}

/** @param jobs `FROM … WHERE …`, found by an index on the keys */
function* countAlong(dialect: Dialect, jobs: Sql, [key, ...rest]: readonly Sql[]): Work<number> {
  let count = 0;
  for (let behind: SqlValue = BEFORE_ALL; ;) {
    const { before, last, atLast }: Piece = yield* piece(dialect, jobs, key!, behind);
    count += before;
    if (last === undefined) return count;
    // Any number of jobs may be due at the same moment.
    const shared = sql`${jobs} AND ${key!} = ${numeral(last)}`;
    count += atLast > MOST_AT_ONCE && rest.length > 0 ? yield* countAlong(dialect, shared, rest) : atLast;
    behind = last;
  }
}

/** Counts all states, each up to one more than a statement counts. */
export function* counts(dialect: Dialect, queue: string): Work<Readonly<Record<LineState, number>>> {
  const { line } = dialect;
  const led = LINE_STATES.map((state) => {
    const lead = leadOf(line, state);
    return sql`(${few(dialect, sql`${ledJobs(line, queue, state)} AND ${lead} > ${BEFORE_ALL} ORDER BY ${lead}`)})`;
  });
  const [row = []] = yield* rowsOf(sql`SELECT ${led}, (${few(dialect, unledJobs(line, queue))})`);
  const [ready = 0, delayed = 0, reserved = 0, held = 0, others = 0] = row.map(Number);
  return { ready, delayed, reserved: reserved + others, held };
}

/** How many rows come before the last key of a page, and how many have that key: the index may not tell these apart. */
interface Piece {
  readonly before: number;
  /** Undefined: this is the last page. */
  readonly last: SqlValue | undefined;
  /** Up to one more than a statement counts. */
  readonly atLast: number;
}

export function* piece(dialect: Dialect, jobs: Sql, key: Sql, behind: SqlValue): Work<Piece> {
  const rest = sql`${jobs} AND ${key} > ${numeral(behind)}`;
  const ends = yield* rowsOf(
    sql`SELECT ${key} ${rest} ORDER BY ${key} LIMIT 2 OFFSET ${dialect.rows(MOST_AT_ONCE - 2)}`,
  );
  const [[lastButOne] = [], [last] = []] = ends;
  if (last === undefined) return { before: yield* countOf(dialect, sql`${rest} ORDER BY ${key}`), last, atLast: 0 };
  return {
    before:
      last === lastButOne ? yield* countOf(dialect, sql`${rest} AND ${key} < ${numeral(last)}`) : MOST_AT_ONCE - 1,
    last,
    atLast: yield* countOf(dialect, sql`${jobs} AND ${key} = ${numeral(last)}`),
  };
}

function* countOf(dialect: Dialect, jobs: Sql): Work<number> {
  return Number(yield* valueOf(few(dialect, jobs)));
}

/** Counts rows, up to one more than a statement counts. */
export const few = ({ rows }: Dialect, jobs: Sql): Sql =>
  sql`SELECT count(*) FROM (SELECT 1 ${jobs} LIMIT ${rows(MOST_AT_ONCE + 1)}) AS few`;

/** Jobs that one call removes. */
const PAGE = 200;

/** Removes one page, and counts its jobs in their batches. */
type Removing = <T extends Removed>(page: () => Work<T>) => Promise<T>;

/** `last`: the place of the last one. Undefined if there was none. */
interface RemovedPage extends Removed {
  readonly last: string | undefined;
}

/** The newest id: jobs pushed from now on have larger ones. */
export function* newestJob({ tables }: Dialect): Work<RowId> {
  return String((yield* valueOf(sql`SELECT max(id) FROM ${tables.jobs}`)) ?? 0);
}

/**
 * Removes all jobs of a queue in pages. Jobs pushed meanwhile stay, or this might never end.
 *
 * A server keeps removed rows in its indexes for a while, and pages that all began at the head would pass those of all pages
 * before. So of a long queue each page begins where the one before ended. What workers have taken or given back meanwhile is
 * found from the head.
 *
 * Returns how many it removed. @param read runs work that only reads
 */
export async function clearQueue(
  dialect: Dialect,
  queue: string,
  read: (work: () => Work<RowId>) => Promise<RowId>,
  remove: Removing,
): Promise<number> {
  let newest: RowId | undefined;
  for (let sum = 0; ;) {
    const { removed } = await remove(() => clearHeads(dialect, queue, newest ?? AFTER_ALL, PAGE));
    sum += removed;
    if (removed < PAGE) return sum;
    const bound = (newest ??= await read(() => newestJob(dialect)));
    for (const state of LINE_STATES) {
      let after: string | undefined;
      do {
        const page: RemovedPage = await remove(() => clearBehind(dialect, queue, state, bound, after));
        sum += page.removed;
        after = page.last;
      } while (after !== undefined);
    }
  }
}

/** Removes up to `limit` jobs of all states with ids up to `newest`. */
export function clearHeads({ line, removeJobs }: Dialect, queue: string, newest: RowId, limit: number): Work<Removed> {
  const heads = LINE_STATES.map(
    (state) => sql`SELECT id FROM (SELECT id ${line.of(queue)} AND ${line.state[state]} AND id <= ${numeral(newest)}
      LIMIT ${limit}) AS ${raw(`${state}_jobs`)}`,
  );
  const all = heads.reduce((some, head) => sql`${some} UNION ALL ${head}`);
  return removeJobs(sql`SELECT id FROM (${all}) AS states LIMIT ${limit}`);
}

/** Removes the next jobs of a state with ids up to `newest`, whatever state they have got into meanwhile. */
export function* clearBehind(
  { line, tables, removeJobs }: Dialect,
  queue: string,
  state: LineState,
  newest: RowId,
  after: string | undefined,
): Work<RemovedPage> {
  const jobs = (yield* linedUp(line, queue, state, PAGE, after)).filter(({ id }) => BigInt(id) <= BigInt(newest));
  const last = jobs.at(-1)?.place;
  if (last === undefined) return { removed: 0, tied: [], last };
  const page = sql`SELECT id FROM ${tables.jobs} WHERE id IN (${jobs.map(({ id }) => numeral(id))})`;
  return { ...(yield* removeJobs(page)), last };
}

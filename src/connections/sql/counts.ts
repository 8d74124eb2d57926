/**
 * Counts the jobs of a queue. Large numbers are counted in pieces, as one statement over a million rows would block the
 * store or this process.
 */
import type { Counts, WaitingState } from '../contract';
import type { Dialect } from './dialect';
import { BEFORE_ALL, ledJobs, leadOf, unledJobs } from './page';
import { rowsOf, type Sql, sql, type Work } from './statement';

/** Jobs that one statement counts: about 2 ms on the slowest store. */
const MOST = 5000;

const STATES: readonly WaitingState[] = ['ready', 'delayed', 'reserved'];

/** Runs work that only reads. Others may run between two calls. */
type Read = <Result>(work: () => Work<Result>) => Promise<Result>;

export async function countJobs(dialect: Dialect, queue: string, read: Read): Promise<Counts> {
  const { line } = dialect;
  const counted = { ...(await read(() => counts(dialect, queue))) };
  for (const each of STATES) {
    if (counted[each] <= MOST) continue;
    const rest = line.order[each].slice(1);
    counted[each] = await countAlong(dialect, ledJobs(line, queue, each), [leadOf(line, each), ...rest], read);
    if (each === 'reserved') counted[each] += await countAlong(dialect, unledJobs(line, queue), rest, read);
  }
  return counted;
}

/** @param rows `FROM … WHERE …`, found by an index on the keys */
export async function countMany(
  dialect: Dialect,
  rows: Sql,
  keys: readonly [Sql, ...Sql[]],
  read: Read,
): Promise<number> {
  const count = await read(() => countOf(dialect, sql`${rows} ORDER BY ${keys[0]}`));
  return count > MOST ? countAlong(dialect, rows, keys, read) : count;
}

/** @param jobs `FROM … WHERE …`, found by an index on the keys */
async function countAlong(dialect: Dialect, jobs: Sql, [key, ...rest]: readonly Sql[], read: Read): Promise<number> {
  let count = 0;
  for (let behind = BEFORE_ALL; ;) {
    const { before, last, atLast } = await read(() => piece(dialect, jobs, key!, behind));
    count += before;
    if (last === undefined) return count;
    // Any number of jobs may be due at the same moment.
    const shared = sql`${jobs} AND ${key!} = ${last}`;
    count += atLast > MOST && rest.length > 0 ? await countAlong(dialect, shared, rest, read) : atLast;
    behind = last;
  }
}

/** Counts all states, each up to one more than a statement counts. */
export function* counts(dialect: Dialect, queue: string): Work<Counts> {
  const { line } = dialect;
  const led = STATES.map((state) => {
    const lead = leadOf(line, state);
    return sql`(${few(dialect, sql`${ledJobs(line, queue, state)} AND ${lead} > ${BEFORE_ALL} ORDER BY ${lead}`)})`;
  });
  const [row = []] = yield* rowsOf(sql`SELECT ${led}, (${few(dialect, unledJobs(line, queue))})`);
  const [ready = 0, delayed = 0, reserved = 0, others = 0] = row.map(Number);
  return { ready, delayed, reserved: reserved + others };
}

/** How many rows come before the last key of a page, and how many have that key: the index may not tell these apart. */
interface Piece {
  readonly before: number;
  /** Undefined: this is the last page. */
  readonly last: number | undefined;
  /** Up to one more than a statement counts. */
  readonly atLast: number;
}

export function* piece(dialect: Dialect, jobs: Sql, key: Sql, behind: number): Work<Piece> {
  const rest = sql`${jobs} AND ${key} > ${behind}`;
  const ends = yield* rowsOf(sql`SELECT ${key} ${rest} ORDER BY ${key} LIMIT 2 OFFSET ${dialect.rows(MOST - 2)}`);
  const [[lastButOne] = [], [last] = []] = ends;
  if (last === undefined) return { before: yield* countOf(dialect, sql`${rest} ORDER BY ${key}`), last, atLast: 0 };
  return {
    before: last === lastButOne ? yield* countOf(dialect, sql`${rest} AND ${key} < ${last}`) : MOST - 1,
    last: Number(last),
    atLast: yield* countOf(dialect, sql`${jobs} AND ${key} = ${last}`),
  };
}

function* countOf(dialect: Dialect, jobs: Sql): Work<number> {
  const [[count] = []] = yield* rowsOf(few(dialect, jobs));
  return Number(count);
}

/** Counts rows, up to one more than a statement counts. */
const few = ({ rows }: Dialect, jobs: Sql): Sql =>
  sql`SELECT count(*) FROM (SELECT 1 ${jobs} LIMIT ${rows(MOST + 1)}) AS few`;

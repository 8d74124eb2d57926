/**
 * Counts the jobs of a queue. Large numbers are counted in pieces, as one statement over a million rows would block the
 * store or this process: run the work in pieces.
 */
import { WAITING_STATES, type Counts } from '../contract';
import type { Dialect } from './dialect';
import { BEFORE_ALL, ledJobs, leadOf, unledJobs } from './page';
import { numeral, rowsOf, sql, valueOf, type Sql, type SqlValue, type Work } from './statement';

/** Jobs that one statement counts: 5,000 took MariaDB more than 5 ms on a slow machine. */
const MOST = 3000;

export function* countJobs(dialect: Dialect, queue: string): Work<Counts> {
  const { line } = dialect;
  const counted = { ...(yield* counts(dialect, queue)) };
  for (const each of WAITING_STATES) {
    if (counted[each] <= MOST) continue;
    const rest = line.order[each].slice(1);
    counted[each] = yield* countAlong(dialect, ledJobs(line, queue, each), [leadOf(line, each), ...rest]);
    if (each === 'reserved') counted[each] += yield* countAlong(dialect, unledJobs(line, queue), rest);
  }
  return counted;
}

/** @param rows `FROM … WHERE …`, found by an index on the key */
export function* countMany(dialect: Dialect, rows: Sql, key: Sql): Work<number> {
  const count = yield* countOf(dialect, sql`${rows} ORDER BY ${key}`);
  return count > MOST ? yield* countAlong(dialect, rows, [key]) : count;
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
    count += atLast > MOST && rest.length > 0 ? yield* countAlong(dialect, shared, rest) : atLast;
    behind = last;
  }
}

/** Counts all states, each up to one more than a statement counts. */
export function* counts(dialect: Dialect, queue: string): Work<Counts> {
  const { line } = dialect;
  const led = WAITING_STATES.map((state) => {
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
  readonly last: SqlValue | undefined;
  /** Up to one more than a statement counts. */
  readonly atLast: number;
}

export function* piece(dialect: Dialect, jobs: Sql, key: Sql, behind: SqlValue): Work<Piece> {
  const rest = sql`${jobs} AND ${key} > ${numeral(behind)}`;
  const ends = yield* rowsOf(sql`SELECT ${key} ${rest} ORDER BY ${key} LIMIT 2 OFFSET ${dialect.rows(MOST - 2)}`);
  const [[lastButOne] = [], [last] = []] = ends;
  if (last === undefined) return { before: yield* countOf(dialect, sql`${rest} ORDER BY ${key}`), last, atLast: 0 };
  return {
    before: last === lastButOne ? yield* countOf(dialect, sql`${rest} AND ${key} < ${numeral(last)}`) : MOST - 1,
    last,
    atLast: yield* countOf(dialect, sql`${jobs} AND ${key} = ${numeral(last)}`),
  };
}

function* countOf(dialect: Dialect, jobs: Sql): Work<number> {
  return Number(yield* valueOf(few(dialect, jobs)));
}

/** Counts rows, up to one more than a statement counts. */
const few = ({ rows }: Dialect, jobs: Sql): Sql =>
  sql`SELECT count(*) FROM (SELECT 1 ${jobs} LIMIT ${rows(MOST + 1)}) AS few`;

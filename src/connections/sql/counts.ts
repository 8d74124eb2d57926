/** How many jobs a queue has: where this process itself counts them row by row, many of them in pieces. */
import type { Counts } from '../contract';
import type { Dialect } from './dialect';
import { raw, rowsOf, type Sql, sql, type Work } from './statement';

/** Jobs that one statement counts then: a million would keep the event loop for 25 ms. */
const MOST = 50_000;
/** Statements for one queue. */
const MOST_PIECES = 400;

/** Places in line, both among them. */
interface Stretch {
  readonly first: number;
  readonly last: number;
}

/** @param read carries out what only reads; others may do so between two calls */
export async function countJobs(
  dialect: Dialect,
  queue: string,
  read: <Result>(work: () => Work<Result>) => Promise<Result>,
): Promise<Counts> {
  const along = dialect.line.countedAlong;
  const counted = await read(() => counts(dialect, queue, along && MOST + 1));
  if (along === undefined || counted.ready <= MOST) return counted;
  const line = await read(() => stretchOf(dialect, queue, along));
  if (line === undefined) return { ...counted, ready: 0 };
  // Jobs that are gone have left their places: the first and the last may be far apart.
  const step = Math.max(MOST, Math.ceil((line.last - line.first + 1) / MOST_PIECES));
  let ready = 0;
  for (let { first } = line; first <= line.last; first += step) {
    const piece = { first, last: Math.min(first + step - 1, line.last) };
    ready += await read(() => readyWithin(dialect, queue, along, piece));
  }
  return { ...counted, ready };
}

/** @param most so many of those that are ready; undefined: all of them */
export function* counts({ line }: Dialect, queue: string, most: number | undefined): Work<Counts> {
  const { ready: isReady, delayed: isDelayed, reserved: isReserved } = line.state;
  const count = (is: Sql): Sql => sql`(SELECT count(*) ${line.of(queue)} AND ${is})`;
  const readyCount =
    most === undefined
      ? count(isReady)
      : sql`(SELECT count(*) FROM (SELECT 1 ${line.of(queue)} AND ${isReady} LIMIT ${most}) AS few)`;
  const each = [readyCount, count(isDelayed), count(isReserved)];
  const [[ready, delayed, reserved] = []] = yield* rowsOf(sql`SELECT ${each}`);
  return { ready: Number(ready), delayed: Number(delayed), reserved: Number(reserved) };
}

/** Undefined: none is ready. */
export function* stretchOf({ line }: Dialect, queue: string, along: Sql): Work<Stretch | undefined> {
  const ends = ['min', 'max'].map(
    (end) => sql`(SELECT ${raw(end)}(${along}) ${line.of(queue)} AND ${line.state.ready})`,
  );
  const [[first = null, last = null] = []] = yield* rowsOf(sql`SELECT ${ends}`);
  return first === null || last === null ? undefined : { first: Number(first), last: Number(last) };
}

export function* readyWithin({ line }: Dialect, queue: string, along: Sql, { first, last }: Stretch): Work<number> {
  const isThere = sql`${along} BETWEEN ${first} AND ${last}`;
  const [[count] = []] = yield* rowsOf(sql`SELECT count(*) ${line.of(queue)} AND ${line.state.ready} AND ${isThere}`);
  return Number(count);
}

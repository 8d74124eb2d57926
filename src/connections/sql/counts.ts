/** How many jobs a queue has: in pieces where they are many, as a database counts row by row. */
import type { Counts } from '../contract';
import type { Dialect } from './dialect';
import { raw, rowsOf, sql, type Work } from './statement';

/** Jobs that one statement counts: a million would keep the event loop for 25 ms where SQLite counts, and a server busy for longer. */
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
  const counted = await read(() => counts(dialect, queue));
  if (counted.ready <= MOST) return counted;
  const line = await read(() => stretchOf(dialect, queue));
  if (line === undefined) return { ...counted, ready: 0 };
  // Jobs that are gone have left their places: the first and the last may be far apart.
  const step = Math.max(MOST, Math.ceil((line.last - line.first + 1) / MOST_PIECES));
  let ready = 0;
  for (let { first } = line; first <= line.last; first += step) {
    const piece = { first, last: Math.min(first + step - 1, line.last) };
    ready += await read(() => readyWithin(dialect, queue, piece));
  }
  return { ...counted, ready };
}

/** Of those that are ready at most one more than `MOST`. */
export function* counts({ line }: Dialect, queue: string): Work<Counts> {
  const { ready: isReady, delayed: isDelayed, reserved: isReserved } = line.state;
  const few = sql`SELECT 1 ${line.of(queue)} AND ${isReady} LIMIT ${MOST + 1}`;
  const others = [isDelayed, isReserved].map((is) => sql`(SELECT count(*) ${line.of(queue)} AND ${is})`);
  const [[ready, delayed, reserved] = []] = yield* rowsOf(
    sql`SELECT ${[sql`(SELECT count(*) FROM (${few}) AS few)`, ...others]}`,
  );
  return { ready: Number(ready), delayed: Number(delayed), reserved: Number(reserved) };
}

/** Undefined: none is ready. */
export function* stretchOf({ line }: Dialect, queue: string): Work<Stretch | undefined> {
  const ends = ['min', 'max'].map(
    (end) => sql`(SELECT ${raw(`${end}(place)`)} ${line.of(queue)} AND ${line.state.ready})`,
  );
  const [[first = null, last = null] = []] = yield* rowsOf(sql`SELECT ${ends}`);
  return first === null || last === null ? undefined : { first: Number(first), last: Number(last) };
}

export function* readyWithin({ line }: Dialect, queue: string, { first, last }: Stretch): Work<number> {
  const isThere = sql`place BETWEEN ${first} AND ${last}`;
  const [[count] = []] = yield* rowsOf(sql`SELECT count(*) ${line.of(queue)} AND ${line.state.ready} AND ${isThere}`);
  return Number(count);
}

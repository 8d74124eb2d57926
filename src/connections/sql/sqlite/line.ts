/** How the jobs of a queue are found in a SQLite file. */
import { isUtf8 } from 'node:buffer';
import { indexedLine, MOST_COUNTED, READY, type Dialect, type Line } from '../dialect';
import { raw, type Sql } from '../statement';

/** A payload as text if it is valid UTF-8, so that any client can show it. */
export function storable(payload: string | Buffer): string | Buffer {
  return typeof payload === 'string' || !isUtf8(payload) ? payload : payload.toString();
}

/** Reads a text column safely: a text that is not UTF-8 would end the process. */
export const read = (column: string): Sql => raw(`CAST(${column} AS BLOB)`);

export const sqliteLine = (tables: Dialect['tables']): Line =>
  indexedLine(tables, 'available_at', {
    along: { reserved: raw('lease_until') },
    hasLease: raw('lease_until IS NOT NULL'),
    payload: storable,
  });

/** Beyond these bounds a number has no room left. */
const IN_LINE = `place BETWEEN -${MOST_COUNTED} AND ${MOST_COUNTED}`;

/** The first or last place in line. @param queue as written in the statement */
export const endOfLine = (jobs: string, which: 'min' | 'max', queue: string): string =>
  `(SELECT ${which}(place) FROM ${jobs} WHERE queue = ${queue} AND ${READY} AND ${IN_LINE})`;

export const tailOf = (jobs: string, queue: string): string => `ifnull(${endOfLine(jobs, 'max', queue)}, 0)`;

/** The place behind all jobs in line. */
export const nextPlace = ({ jobs }: Dialect['tables'], queue: string): Sql => ({
  text: `${tailOf(jobs.text, '?')} + 1`,
  values: [queue],
});

/** What the columns of a job say, in the words of every database. */
import { MOST_COUNTED } from './job-row';
import { raw } from './statement';

/** In line: it has a place there, and nobody holds it. Indexes repeat the conditions of states to the letter. */
export const READY = 'place IS NOT NULL AND reserved_at IS NULL';
/** Waits for its moment; also a job of another program, which knows no places. */
export const DELAYED = 'place IS NULL AND reserved_at IS NULL';
export const RESERVED = 'reserved_at IS NOT NULL';

/** What those that run stand in order by, which are few. Other programs set neither. */
export const RESERVED_ORDER = [raw('COALESCE(lease_until, 0)'), raw('COALESCE(place, 0)'), raw('id')];

/** Grows by one with each reservation of a job: with its id it tells a reservation from all others. */
export const FENCE = '(attempts + crashes + releases)';

/** The payload has an `id`, and it stands in `uuid`. */
export const KNOWN_ID = "uuid <> ''";
/** It has none. */
export const NO_ID = "uuid = ''";
/** Inserted by another program, or by an older version: nobody has looked for its `id` yet. */
export const UNREAD_ID = 'uuid IS NULL';

/** Nobody holds it any more. */
export const UNHELD = 'reserved_at = NULL, lease_until = NULL';

/** How a database writes the larger and the smaller of two numbers, and any value as a number. */
export interface Comparison {
  readonly larger: string;
  readonly smaller: string;
  readonly number?: (column: string) => string;
}

/** What stands in a counter may not have been counted by us: see `MOST_COUNTED`. */
function sane({ larger, smaller, number = String }: Comparison, counter: string): string {
  return `${smaller}(${larger}(${number(counter)}, 0), ${MOST_COUNTED})`;
}

/** Counts a reservation. */
export function countTaken(comparison: Comparison): string {
  const others = ['crashes', 'exceptions', 'timeouts', 'releases'].map((name) => `${name} = ${sane(comparison, name)}`);
  return [`attempts = ${sane(comparison, 'attempts')} + 1`, ...others].join(', ');
}

/** Counts a lease that has ended as a crash, in place of an attempt. */
export function countCrash(comparison: Comparison): string {
  const attempts = `${comparison.larger}(${sane(comparison, 'attempts')} - 1, 0)`;
  return `attempts = ${attempts}, crashes = ${sane(comparison, 'crashes')} + 1`;
}

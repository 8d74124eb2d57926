/** Conditions and counters on the columns of a job, written the same way for every database. */
import { MOST_COUNTED } from './job-row';
import { raw } from './statement';

/** In line: it has a place, and nobody has reserved it. The indexes repeat the conditions of states letter by letter. */
export const READY = 'place IS NOT NULL AND reserved_at IS NULL';
/** Waits until it is due. Jobs inserted by other programs look like this too, as they have no place. */
export const DELAYED = 'place IS NULL AND reserved_at IS NULL';
export const RESERVED = 'reserved_at IS NOT NULL';

/** The order of the reserved jobs, of which there are few. Other programs set neither lease nor place. */
export const RESERVED_ORDER = [raw('COALESCE(lease_until, 0)'), raw('COALESCE(place, 0)'), raw('id')];

/** Grows by one with each reservation of a job. Together with the id it identifies a reservation. */
export const FENCE = '(attempts + crashes + releases)';

/** The payload has an `id`, which is in the column `uuid`. */
export const KNOWN_ID = "uuid <> ''";
/** The payload has no `id`. */
export const NO_ID = "uuid = ''";
/** Inserted by another program or an older version; nobody has read the payload's `id` yet. */
export const UNREAD_ID = 'uuid IS NULL';

export const UNHELD = 'reserved_at = NULL, lease_until = NULL';

/** How a database writes the maximum and minimum of two numbers, and the conversion of a value to a number. */
export interface Comparison {
  readonly larger: string;
  readonly smaller: string;
  readonly number?: (column: string) => string;
}

/** Keeps a counter within bounds, as another program may have written it: see `MOST_COUNTED`. */
function sane({ larger, smaller, number = String }: Comparison, counter: string): string {
  return `${smaller}(${larger}(${number(counter)}, 0), ${MOST_COUNTED})`;
}

export function countTaken(comparison: Comparison): string {
  const others = ['crashes', 'exceptions', 'timeouts', 'releases'].map((name) => `${name} = ${sane(comparison, name)}`);
  return [`attempts = ${sane(comparison, 'attempts')} + 1`, ...others].join(', ');
}

/** Counts an expired lease as a crash instead of an attempt. */
export function countCrash(comparison: Comparison): string {
  const attempts = `${comparison.larger}(${sane(comparison, 'attempts')} - 1, 0)`;
  return `attempts = ${attempts}, crashes = ${sane(comparison, 'crashes')} + 1`;
}

/** Which failed jobs are meant: those that fit all that is given. */
import { redact } from '../../base/redact';
import { type Duration, durationSeconds } from '../../job/duration';
import type { FailedEntry } from '../../connections/failed-store';
import { readTies } from '../../payload/ties';
import { invalidFailedFilter } from './errors';

export interface FailedFilter {
  /** Those of this queue. */
  readonly queue?: string | undefined;
  /** Those that came from this connection. */
  readonly connection?: string | undefined;
  /** Those of this name. */
  readonly name?: string | undefined;
  /** Those of this batch, by its id. */
  readonly batch?: string | undefined;
  /** Those with this text in their error: its message, its stack or its causes, as `exception` shows them. */
  readonly error?: string | undefined;
  /** Those that failed longer ago than this, by the clock of their store. */
  readonly olderThan?: Duration | undefined;
}

const TEXTS: readonly string[] = ['queue', 'connection', 'name', 'batch', 'error'];

/** Whether none of these fields says anything. */
export function isEmpty(filter: FailedFilter): boolean {
  return Object.values(filter).every((value) => value === undefined);
}

/**
 * A slip in a filter would mean all failed jobs, so it is refused.
 *
 * @throws E_FAILED_FILTER, E_INVALID_DURATION
 */
export function checkFilter(filter: FailedFilter, call: string): void {
  if (isEmpty(filter)) throw invalidFailedFilter(call, filter, 'it chooses none');
  for (const [field, value] of Object.entries(filter)) {
    if (value === undefined) continue;
    if (field === 'olderThan') durationSeconds(value, `olderThan of ${call}`);
    else if (!TEXTS.includes(field)) throw invalidFailedFilter(call, filter, `'${field}' is none of its fields`);
    else if (typeof value !== 'string' || value === '')
      throw invalidFailedFilter(call, filter, `'${field}' is no text`);
  }
}

/** @throws E_FAILED_FILTER one of the numbers is no count */
export function checkCounts(counts: Readonly<Record<string, number | undefined>>, call: string): void {
  for (const [field, count] of Object.entries(counts)) {
    if (count === undefined || count === Infinity || (Number.isSafeInteger(count) && count >= 0)) continue;
    throw invalidFailedFilter(call, counts, `'${field}' must be a whole number, 0 or more`, '');
  }
}

/** @param now by the clock of the store, in milliseconds; asked for only where `olderThan` is given */
export async function fitting(
  { queue, connection, name, batch, error, olderThan }: FailedFilter,
  now: () => Promise<number> | number,
): Promise<(entry: FailedEntry) => boolean> {
  const before = olderThan === undefined ? Infinity : (await now()) - durationSeconds(olderThan, 'olderThan') * 1000;
  return (entry) =>
    (queue === undefined || entry.queue === queue) &&
    (connection === undefined || entry.connection === connection) &&
    (name === undefined || entry.name === name) &&
    (batch === undefined || readTies(entry.payload)?.batch?.id === batch) &&
    // As it is shown: nobody finds out by trying what is masked.
    (error === undefined || redact(entry.exception).includes(error)) &&
    entry.failedAt < before;
}

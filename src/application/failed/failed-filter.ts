/** Which failed jobs are meant: those that fit all that is given. */
import type { Milliseconds } from '../../base/clock';
import { type Duration, durationSeconds } from '../../job/duration';
import { invalidFailedFilter } from './errors';
import type { FailedEntry } from '../../connections/failed-store';

export interface FailedFilter {
  /** Those of this queue. */
  readonly queue?: string | undefined;
  /** Those that came from this connection. */
  readonly connection?: string | undefined;
  /** Those of this name. */
  readonly name?: string | undefined;
  /** Those with this text in their error: its message, its stack or its causes, as `exception` shows them. */
  readonly error?: string | undefined;
  /** Those that failed longer ago than this, by the clock of their store. */
  readonly olderThan?: Duration | undefined;
}

const TEXTS = ['queue', 'connection', 'name', 'error'] as const;

/**
 * A slip in a filter would mean all failed jobs, so it is refused.
 *
 * @throws E_FAILED_FILTER, E_INVALID_DURATION
 */
export function checkFilter(filter: FailedFilter, call: string): void {
  const given = Object.entries(filter).filter(([, value]) => value !== undefined);
  if (given.length === 0) throw invalidFailedFilter(call, filter, 'it chooses none');
  for (const [field, value] of given) {
    if (field === 'olderThan') durationSeconds(value, `olderThan of ${call}`);
    else if (!(TEXTS as readonly string[]).includes(field))
      throw invalidFailedFilter(call, filter, `'${field}' is none of its fields`);
    else if (typeof value !== 'string' || value === '')
      throw invalidFailedFilter(call, filter, `'${field}' is no text`);
  }
}

/** @param now by the clock of the store */
export function fitsFilter(entry: FailedEntry, filter: FailedFilter, now: Milliseconds): boolean {
  const { queue, connection, name, error, olderThan } = filter;
  return (
    (queue === undefined || entry.queue === queue) &&
    (connection === undefined || entry.connection === connection) &&
    (name === undefined || entry.name === name) &&
    (error === undefined || entry.exception.includes(error)) &&
    (olderThan === undefined || entry.failedAt < now - durationSeconds(olderThan, 'olderThan') * 1000)
  );
}

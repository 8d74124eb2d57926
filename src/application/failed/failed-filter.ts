/** Which failed jobs are meant: those that fit all that is given. */
import type { Milliseconds } from '../../base/clock';
import { redact } from '../../base/redact';
import { type Duration, durationSeconds } from '../../job/duration';
import type { FailedEntry } from '../../connections/failed-store';
import { readTies } from '../../payload/ties';
import { commonText } from './common-text';
import { invalidFailedFilter } from './errors';
import type { FailedJob } from './failed-job';

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
  /**
   * Those of one group, as the dashboard puts them together: by what the first line of their errors has in common, such as
   * `MailRefused: 550`. What stands in their stack or their causes does not count.
   */
  readonly group?: string | undefined;
  /** Those that failed longer ago than this, by the clock of their store. */
  readonly olderThan?: Duration | undefined;
}

const TEXTS: readonly string[] = ['queue', 'connection', 'name', 'batch', 'error', 'group'];

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

/** What a filter asks of a failed job. */
type Asked = Pick<FailedJob, 'queue' | 'connection' | 'name' | 'batch' | 'exception' | 'failedAt'>;

/** @throws E_INVALID_DURATION */
export function matching(
  { queue, connection, name, batch, error, group, olderThan }: FailedFilter,
  now: Milliseconds,
): (job: Asked) => boolean {
  const before = olderThan === undefined ? Infinity : now - durationSeconds(olderThan, 'olderThan') * 1000;
  return (job) =>
    (queue === undefined || job.queue === queue) &&
    (connection === undefined || job.connection === connection) &&
    (name === undefined || job.name === name) &&
    (batch === undefined || job.batch === batch) &&
    (error === undefined || job.exception.includes(error)) &&
    (group === undefined || commonText(job.exception) === group) &&
    job.failedAt.getTime() < before;
}

/**
 * The same of what a store keeps, of which no more is read than is asked.
 *
 * @param now by the clock of the store; asked for only where `olderThan` is given
 */
export async function matchingKept(
  filter: FailedFilter,
  now: () => Promise<Milliseconds> | Milliseconds,
): Promise<(entry: FailedEntry) => boolean> {
  const fits = matching(filter, filter.olderThan === undefined ? 0 : await now());
  return ({ queue, connection, name, payload, exception, failedAt }) =>
    fits({
      queue,
      connection,
      name,
      failedAt: new Date(failedAt),
      get batch() {
        return readTies(payload)?.batch?.id;
      },
      // As it is shown: nobody finds out by trying what is masked.
      get exception() {
        return redact(exception);
      },
    });
}

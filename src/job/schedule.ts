/** `schedule` of `@Job()`: when workers send jobs of the class by themselves. */
import type { Duration } from './duration';
import type { Kind } from './option-kinds';

/**
 * What happens to occurrences that nobody sent in time: `latest` sends the newest within an hour, `skip` the newest within a
 * minute, `all` sends all.
 */
export type MissedPolicy = 'latest' | 'skip' | 'all';

/** What happens to an occurrence while the job of the one before it waits, runs, or is about to be retried. */
export type OverlapPolicy = 'skip' | 'allow';

export interface ScheduleOptions {
  /** Five fields: minute, hour, day of the month, month, weekday: `'0 3 * * *'`. This or `every`. */
  readonly cron?: string | undefined;
  /** The multiples of a span, counted from 1970 in UTC: `'15m'` means each full quarter of an hour. */
  readonly every?: Duration | undefined;
  /** The time zone of the times in `cron`. Default: `'UTC'`. */
  readonly timezone?: string | undefined;
  /** Default: the name of the job. */
  readonly name?: string | undefined;
  /** A second entry sets how far back to look: `['latest', '6h']`. Default: `'latest'`, within an hour. */
  readonly missed?: MissedPolicy | readonly [policy: MissedPolicy, within: Duration] | undefined;
  /** Default: `'skip'` if the store keeps unique keys, unless `missed` is `'all'`. */
  readonly overlap?: OverlapPolicy | undefined;
}

/** Set by the schedule layer, which this layer must not import. */
let reader: Kind<unknown>;

export function setScheduleReader(read: Kind<unknown>): void {
  reader = read;
}

export const schedule: Kind<unknown> = (value, place) => reader(value, place);

/** `schedule` of `@Job()`: when jobs of the class are sent by the workers themselves. */
import type { Duration } from './duration';
import type { Kind } from './option-kinds';

/** What becomes of occurrences that nobody sent in time: the newest one is, within an hour or within a minute, or all are. */
export type MissedPolicy = 'latest' | 'skip' | 'all';

/** What becomes of an occurrence while the job of the one before it waits, runs, or is to be tried again. */
export type OverlapPolicy = 'skip' | 'allow';

export interface ScheduleOptions {
  /** Five fields: minute, hour, day of the month, month, weekday: `'0 3 * * *'`. This or `every`. */
  readonly cron?: string | undefined;
  /** The multiples of a span since 1970 in UTC: `'15m'` is each full quarter of an hour. */
  readonly every?: Duration | undefined;
  /** Whose clocks the times of `cron` are read from. Default: `'UTC'`. */
  readonly timezone?: string | undefined;
  /** Default: the name of the job. */
  readonly name?: string | undefined;
  /** With a second entry, how far back is looked: `['latest', '6h']`. Default: `'latest'`, within an hour. */
  readonly missed?: MissedPolicy | readonly [policy: MissedPolicy, within: Duration] | undefined;
  /** Default: `'skip'` where the store keeps unique keys, and not all that were missed are to run. */
  readonly overlap?: OverlapPolicy | undefined;
}

/** What reads times puts itself here: it lies above. */
let reader: Kind<unknown>;

export function setScheduleReader(read: Kind<unknown>): void {
  reader = read;
}

export const schedule: Kind<unknown> = (value, place) => reader(value, place);

/** `debounce` of `@Job()`: a job that waits a while, and whose place another one may take until then. */
import type { Seconds } from '../base/clock';
import { type Duration, durationSeconds } from './duration';
import { invalidDuration } from './errors';
import type { Kind } from './option-kinds';

export interface DebounceOptions {
  /**
   * What tells two jobs of the class apart: a number, or a text of 1 to 1000 characters, made from the job's data. Write the job's
   * type: `by: (job: Sync) => job.tenant`. Default: nothing does: each dispatch of the class takes the place of the last one.
   */
  by?(this: void, job: object): string | number;
  /** So long each dispatch waits for another one. */
  readonly wait: Duration;
  /** From the first dispatch on, the job is put off for so long at most, by the clock of the store. Default: without an end. */
  readonly longest?: Duration | undefined;
}

export interface Debouncing {
  readonly by: ((job: object) => unknown) | undefined;
  readonly wait: Seconds;
  readonly longest: Seconds | undefined;
}

const KNOWN = ['by', 'wait', 'longest'];
const REMEDY = 'give false, or an object with wait (a duration), and perhaps by (a function) and longest (a duration)';

/** Undefined: nothing takes its place. */
export const debounce: Kind<Debouncing | undefined> = (value, place) => {
  if (value === false) return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw place.refuse(value, REMEDY);
  if (Object.keys(value).some((key) => !KNOWN.includes(key))) throw place.refuse(value, REMEDY);
  const { by, wait, longest } = value as Readonly<Record<string, unknown>>;
  if (wait === undefined || (by !== undefined && typeof by !== 'function')) throw place.refuse(value, REMEDY);
  const subject = `wait in ${place.subject}`;
  const seconds = durationSeconds(wait, subject);
  if (seconds === 0) throw invalidDuration(wait, `${subject}, which is longer than nothing`);
  const most = longest === undefined ? undefined : durationSeconds(longest, `longest in ${place.subject}`);
  if (most !== undefined && most < seconds) throw place.refuse(value, 'give a longest that is no shorter than wait');
  return { by: by as Debouncing['by'], wait: seconds, longest: most };
};

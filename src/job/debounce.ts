/** `debounce` of `@Job()`: a job waits a while, and a later job may take its place until then. */
import type { Seconds } from '../base/clock';
import { type Duration, durationSeconds } from './duration';
import { invalidDuration } from './errors';
import { type Kind, membersOf } from './option-kinds';

export interface DebounceOptions {
  /**
   * What tells two jobs of the class apart: a number, or a text of 1 to 1000 characters, made from the job's data. Write the
   * job's type: `by: (job: Sync) => job.tenant`. Default: nothing; each dispatch of the class replaces the one before.
   */
  by?(this: void, job: object): string | number;
  /** How long each dispatch waits for a later one. */
  readonly wait: Duration;
  /** The longest time that the job is put off, counted from the first dispatch by the store's clock. Default: no limit. */
  readonly longest?: Duration | undefined;
}

export interface Debouncing {
  readonly by: ((job: object) => unknown) | undefined;
  readonly wait: Seconds;
  readonly longest: Seconds | undefined;
}

const REMEDY = 'give false, or an object with wait (a duration), and perhaps by (a function) and longest (a duration)';

const members = membersOf(['by', 'wait', 'longest'], REMEDY);

/** Undefined if no job replaces another. */
export const debounce: Kind<Debouncing | undefined> = (value, place) => {
  if (value === false) return undefined;
  const { by, wait, longest } = members(value, place);
  if (wait === undefined || (by !== undefined && typeof by !== 'function')) throw place.refuse(value, REMEDY);
  const subject = `wait in ${place.subject}`;
  const seconds = durationSeconds(wait, subject);
  if (seconds === 0) throw invalidDuration(wait, `${subject}, which must be longer than 0`);
  const most = longest === undefined ? undefined : durationSeconds(longest, `longest in ${place.subject}`);
  if (most !== undefined && most < seconds) throw place.refuse(value, 'longest must not be shorter than wait');
  return { by: by as Debouncing['by'], wait: seconds, longest: most };
};

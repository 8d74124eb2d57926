/** `unique` of `@Job()`: which jobs may exist only once at a time, and until when. */
import type { Seconds } from '../base/clock';
import { type Duration, durationSeconds } from './duration';
import { invalidDuration } from './errors';
import { type Kind, membersOf } from './option-kinds';

export interface UniqueOptions {
  /**
   * What tells two jobs of the class apart: a number, or a text of 1 to 1000 characters, made from the job's data. Write the
   * job's type: `by: (job: Reindex) => job.product`. Default: nothing; one job of the class at a time.
   */
  by?(this: void, job: object): string | number;
  /** What frees the key: the end of the job, whatever its outcome, or its start. Default: `'end'`. */
  readonly until?: 'start' | 'end' | undefined;
  /**
   * The longest time that the key is held, counted from the dispatch by the store's clock. Default: as long as the job exists.
   */
  readonly for?: Duration | undefined;
}

export interface Uniqueness {
  readonly by: ((job: object) => unknown) | undefined;
  readonly until: 'start' | 'end';
  readonly for: Seconds | undefined;
}

const REMEDY =
  "give true, or an object with one or more of by (a function), until ('start' or 'end') and for (a duration)";

const members = membersOf(['by', 'until', 'for'], REMEDY);

/** Undefined if there is no limit. */
export const unique: Kind<Uniqueness | undefined> = (value, place) => {
  if (value === false) return undefined;
  if (value === true) return { by: undefined, until: 'end', for: undefined };
  const { by, until = 'end', for: most } = members(value, place);
  if (by !== undefined && typeof by !== 'function') throw place.refuse(value, REMEDY);
  if (until !== 'start' && until !== 'end') throw place.refuse(value, REMEDY);
  const subject = `for in ${place.subject}`;
  const seconds = most === undefined ? undefined : durationSeconds(most, subject);
  if (seconds === 0) throw invalidDuration(most, `${subject}, which must be longer than 0`);
  return { by: by as Uniqueness['by'], until, for: seconds };
};

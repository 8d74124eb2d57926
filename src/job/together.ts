/** The option `together` of a job: its class handles many jobs in one call of a static method. */
import type { Class } from '../base/class';
import { durationSeconds, type Duration } from './duration';
import { membersOf, type Kind } from './option-kinds';
import type { Seconds } from '../base/clock';

export interface TogetherOptions {
  /** How many jobs one call gets at most, from 2. */
  readonly most: number;
  /** How long the first job of a call waits for others, in seconds or as `'1s'`. */
  readonly wait: Duration;
}

export interface Together {
  readonly most: number;
  readonly wait: Seconds;
}

/** The class of jobs that are handled together. */
export interface HandlesAll<J> {
  // A property, so that TypeScript compares the jobs' type strictly.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly handleAll: (jobs: readonly J[], ...injected: any[]) => unknown;
}

/** The static method that gets the jobs. */
export const HANDLE_ALL = 'handleAll';

export const hasHandleAll = (target: Class): boolean => typeof Reflect.get(target, HANDLE_ALL) === 'function';

const REMEDY = "give { most, wait }, such as { most: 100, wait: '1s' }";

const members = membersOf(['most', 'wait'], REMEDY);

export const together: Kind<Together> = (value, place) => {
  const { most, wait } = members(value, place);
  if (wait === undefined || !Number.isSafeInteger(most)) throw place.refuse(value, REMEDY);
  if ((most as number) < 2) throw place.refuse(value, `${REMEDY}; most is a number from 2`);
  return { most: most as number, wait: durationSeconds(wait, `wait in ${place.subject}`) };
};

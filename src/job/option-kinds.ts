/** The kinds of option values: how each is checked, and what a run gets. Jobs and workers share them. With the rule for names of queues. */
import type { Milliseconds, Seconds } from '../base/clock';
import { resolveBackoff, checkDelay, durationSeconds, type ResolvedBackoff } from './duration';
import { invalidQueueName } from './errors';

/** Where a value was given, for its errors. */
export interface Place {
  /** "timeout on SendEmail" */
  readonly subject: string;
  /** @param remedy what to write, such as "give true or false" */
  refuse(value: unknown, remedy: string): Error;
}

/** A place whose errors `invalid` makes; the remedy becomes a sentence. */
export function placeOf(subject: string, invalid: (subject: string, value: unknown, remedy: string) => Error): Place {
  return {
    subject,
    refuse: (value, remedy) => invalid(subject, value, `${remedy.charAt(0).toUpperCase()}${remedy.slice(1)}.`),
  };
}

/** @throws the error that `place.refuse` makes, or E_INVALID_DURATION */
export type Kind<Value> = (value: unknown, place: Place) => Value;

export const flag: Kind<boolean> = (value, place) => {
  // The text 'false' from an environment variable would count as true.
  if (typeof value === 'boolean') return value;
  throw place.refuse(value, 'give true or false');
};

/** @param zero what 0 means, if that is not plain */
export function count(least: number, most = Infinity, zero?: string): Kind<number> {
  return (value, place) => {
    if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
    const end = most < Infinity ? ` to ${most}` : '';
    throw place.refuse(value, `give a whole number from ${least}${end}${zero === undefined ? '' : ` (0: ${zero})`}`);
  };
}

export const countOrNoLimit = count(0, Infinity, 'no limit');

/** An object that has no other members than those. */
export function membersOf<Name extends string>(
  known: readonly Name[],
  remedy: string,
): Kind<{ readonly [name in Name]?: unknown }> {
  return (value, place) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    if (isObject && Object.keys(value).every((key) => known.includes(key as Name))) return value;
    throw place.refuse(value, remedy);
  };
}

export const seconds: Kind<Seconds> = (value, { subject }) => durationSeconds(value, subject);

/** How long something is kept, more than 0; undefined: not at all. */
export const kept: Kind<Seconds | undefined> = (value, place) => {
  if (value === false) return undefined;
  const time = durationSeconds(value, place.subject);
  if (time > 0) return time;
  throw place.refuse(value, "give a duration above 0, such as '1h', or false");
};

export const backoff: Kind<ResolvedBackoff> = (value, { subject }) => resolveBackoff(value, subject);

/** A duration from now, in seconds, or a moment. */
export const delay: Kind<Seconds | Date> = (value, { subject }) => checkDelay(value, subject);

/** A moment. Undefined for a span, which counts from the dispatch and travels in the payload. */
export const moment: Kind<Milliseconds | undefined> = (value, place) => {
  const read = delay(value, place);
  return read instanceof Date ? read.getTime() : undefined;
};

export const text: Kind<string> = (value, place) => {
  if (typeof value === 'string' && value.trim() !== '') return value;
  throw place.refuse(value, 'give a string of at least one character');
};

/** Endings and parts of the keys that belong to a queue. */
const RESERVED =
  /:(?:delayed|reserved|notify|failed|failed:jobs|queues|control|cancelled|cancelled:reasons)$|:(?:client|lock):/;

/** The problem of a comma where one name is expected. A worker takes several, and has its own words. */
const ONE_QUEUE = "a job goes to one queue; a list of queues is the worker's";

/**
 * @param subject whose queue it is, as the error names it: "queue on SendEmail"
 * @param listed the problem to report for a name with a comma
 * @throws E_INVALID_QUEUE_NAME
 */
export function checkQueueName(name: unknown, subject: string, listed = ONE_QUEUE): asserts name is string {
  const problem = problemOf(name, listed);
  if (problem !== undefined) throw invalidQueueName(name, subject, problem);
}

function problemOf(name: unknown, listed: string): string | undefined {
  if (typeof name !== 'string' || name === '') return 'give a string of at least one character';
  if (name.includes(',')) return listed;
  if (/\s/.test(name)) return 'leave out the white space';
  // One store would refuse it, and another would keep it under a different name.
  if (/\p{Cc}/u.test(name) || !name.isWellFormed()) return 'leave out control characters and halves of characters';
  if (/[{}]/.test(name))
    return 'leave out { and }: they choose the slot in a Redis cluster, and Onqueue sets them itself';
  if (name.startsWith(':')) return "do not begin it with ':', as Onqueue's own keys do";
  const reserved = RESERVED.exec(name);
  return reserved === null ? undefined : `'${reserved[0]}' is used by Onqueue's own keys; choose another name`;
}

/** The fields of a payload that say how the dispatch wants a job to be run: Laravel's, and some of our own. */
import type { Seconds } from '../base/clock';
import { LONGEST_DURATION } from '../job/duration';
import type { ChosenOptions, ResolvedBackoff } from '../job/options';
import { InvalidPayloadError } from './errors';

type Fields = Readonly<Record<string, unknown>>;

/** In the order in which they are written. `timeoutAt` is only read: Laravel's older name for `retryUntil`. */
export const CHOSEN_FIELDS = [
  'maxTries',
  'maxExceptions',
  'failOnTimeout',
  'backoff',
  'jitter',
  'timeout',
  'retryUntil',
  'timeoutAt',
  'maxCrashes',
] as const;

const NOTHING_CHOSEN: ChosenOptions = {};

/** As members of an object, each with a comma behind it. */
export function writeChosen(chosen: ChosenOptions): string {
  const { tries, maxExceptions, failOnTimeout, backoff, timeout, retryUntil, maxCrashes } = chosen;
  let members = '';
  if (tries !== undefined) members += `"maxTries":${tries},`;
  if (maxExceptions !== undefined) members += `"maxExceptions":${maxExceptions},`;
  if (failOnTimeout !== undefined) members += `"failOnTimeout":${failOnTimeout},`;
  if (backoff !== undefined) members += `"backoff":"${backoff.delays.join(',')}",`;
  if (backoff !== undefined && backoff.jitter > 0) members += `"jitter":${backoff.jitter},`;
  if (timeout !== undefined) members += `"timeout":${timeout},`;
  if (retryUntil !== undefined) members += `"retryUntil":${retryUntil / 1000},`;
  if (maxCrashes !== undefined) members += `"maxCrashes":${maxCrashes},`;
  return members;
}

/**
 * Reads them as Laravel 5.5 and later write them: null is as good as absent, and a number may be a text.
 *
 * @param foreign written by another framework, which says `"failOnTimeout":false` of every job that says nothing
 * @throws InvalidPayloadError on anything else than a number or a list of numbers
 */
export function readChosen(fields: Fields, foreign: boolean): ChosenOptions {
  if (!CHOSEN_FIELDS.some((field) => fields[field] !== undefined && fields[field] !== null)) return NOTHING_CHOSEN;
  const retryUntil = seconds(fields, 'retryUntil') ?? seconds(fields, 'timeoutAt');
  const failOnTimeout = flag(fields, 'failOnTimeout');
  return {
    tries: count(fields, 'maxTries'),
    maxExceptions: count(fields, 'maxExceptions'),
    failOnTimeout: foreign && failOnTimeout === false ? undefined : failOnTimeout,
    backoff: backoffOf(fields),
    timeout: seconds(fields, 'timeout'),
    retryUntil: retryUntil === undefined ? undefined : Math.round(retryUntil * 1000),
    maxCrashes: count(fields, 'maxCrashes'),
  };
}

function backoffOf(fields: Fields): ResolvedBackoff | undefined {
  const { backoff } = fields;
  if (backoff === undefined || backoff === null || backoff === '') return undefined;
  const delays: readonly unknown[] = typeof backoff === 'string' ? backoff.split(',') : [backoff].flat();
  const jitter = amount(fields, 'jitter') ?? 0;
  if (jitter > 1) throw refusal('jitter', 'a share from 0 to 1');
  if (delays.length === 0) return undefined;
  const read = (delay: unknown): Seconds => number(delay) ?? refuse('backoff', 'seconds, or a list of seconds');
  return { delays: delays.map((delay) => Math.min(read(delay), LONGEST_DURATION)), jitter };
}

function count(fields: Fields, field: string): number | undefined {
  const value = amount(fields, field);
  if (value === undefined || Number.isInteger(value)) return value;
  throw refusal(field, 'a whole number');
}

// The largest number of its language is how others may say that there is no end; no store could count so far.
function seconds(fields: Fields, field: string): Seconds | undefined {
  const value = amount(fields, field);
  return value === undefined ? undefined : Math.min(value, LONGEST_DURATION);
}

function amount(fields: Fields, field: string): number | undefined {
  const value = fields[field];
  if (value === undefined || value === null) return undefined;
  return number(value) ?? refuse(field, 'a number from 0');
}

function flag(fields: Fields, field: string): boolean | undefined {
  const value = fields[field];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'boolean' || value === 0 || value === 1) return Boolean(value);
  throw refusal(field, 'true or false');
}

/** Undefined: it is no number from 0, written as one or as a text. */
function number(value: unknown): number | undefined {
  const read = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof read === 'number' && read >= 0 && read < Infinity ? read : undefined;
}

function refuse(field: string, expected: string): never {
  throw refusal(field, expected);
}

function refusal(field: string, expected: string): InvalidPayloadError {
  return new InvalidPayloadError(`expected ${expected}`, `/${field}`);
}

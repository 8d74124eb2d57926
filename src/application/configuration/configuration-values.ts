/** How the values of a configuration are checked: each check says in words what is wrong. */
import { bytesOfSize } from '../../dispatch/payload-limit';
import { redact } from '../../base/redact';
import type { Check } from '../../connections/driver';
import { knownClient } from '../../connections/kit/requirements';
import { durationSeconds } from '../../job/duration';
import { checkQueueName } from '../../job/option-kinds';
import { isRecord } from '../../payload/values';

export const expects =
  (what: string, holds: (value: unknown) => boolean): Check =>
  (value) =>
    holds(value) ? undefined : `expected ${what}, got ${shown(value)}`;

export const text = expects('a string', (value) => typeof value === 'string' && value !== '');

export const emptyOrText: Check = (value) => (value === '' ? undefined : text(value));

/** Shows only the type, because even a wrong password must not appear. */
export const secret: Check = (value) =>
  typeof value === 'string' ? undefined : `expected a string, got a ${typeof value}`;

export const flag = expects('true or false', (value) => typeof value === 'boolean');

export const callback = expects('a function', (value) => typeof value === 'function');

export const object = expects('an object', isRecord);

export const flagOrObject: Check = (value) => (typeof value === 'boolean' ? undefined : object(value));

export const array = expects('an array', Array.isArray);

export const oneOrMore = expects(
  'an array with at least one entry',
  (value) => Array.isArray(value) && value.length > 0,
);

export const integer = (least: number, most: number): Check =>
  expects(
    `a whole number from ${least} to ${most}`,
    (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  );

export const countOrInfinity = expects(
  'a whole number from 1, or Infinity',
  (value) => value === Infinity || (Number.isSafeInteger(value) && (value as number) > 0),
);

export const withMethods = (what: string, ...methods: string[]): Check =>
  expects(`${what} with ${methods.join('(), ')}()`, (value) => {
    if (typeof value !== 'object' || value === null) return false;
    return methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function');
  });

export const queueName: Check = (value) => complaint((subject) => checkQueueName(value, subject));

export const span: Check = (value) =>
  complaint((subject) => {
    if (durationSeconds(value, subject) === 0) throw new RangeError('expected more than 0');
  });

export const lease: Check = (value) =>
  value === null
    ? 'null is refused: the job of a worker that died would never run again. Leave it out for 30 s; a job may run much ' +
      'longer than that, because the lease of a living worker is renewed'
    : span(value);

export const size = expects(
  "a size from '1kb' to '512mb', such as '4mb', or a number of bytes",
  (value) => bytesOfSize(value) !== undefined,
);

export const address =
  (schemes: RegExp, example: string): Check =>
  (value) =>
    typeof value === 'string' && schemes.test(value)
      ? undefined
      : // Without a scheme, a password cannot be told from a name.
        `expected an address like ${example}, got ${shown(typeof value === 'string' ? value.replace(/^([a-z]+:\/\/)?.*@/s, '$1***@') : value)}`;

/** The message of a check that throws, without the subject, because the path already precedes it. */
function complaint(check: (subject: string) => void): string | undefined {
  const subject = 'value';
  try {
    check(subject);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(`${subject}: `, '');
  }
}

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${redact(value)}'`;
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  return typeof value === 'object' && value !== null ? (knownClient(value) ?? 'an object') : String(value);
}

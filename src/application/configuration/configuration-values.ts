/** How the values of a configuration are checked: each check says in words what is wrong. */
import { redact } from '../../base/redact';
import { bytesOfSize } from '../../dispatch/payload-size';
import { durationSeconds } from '../../job/duration';
import { checkQueueName } from '../../job/queue-name';
import { redisUrlProblem } from './redis-url';

/** What is wrong with a value, in words; undefined: nothing. */
export type Check = (value: unknown) => string | undefined;

export const expects =
  (what: string, holds: (value: unknown) => boolean): Check =>
  (value) =>
    holds(value) ? undefined : `expected ${what}, got ${shown(value)}`;

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const text = expects('a text', (value) => typeof value === 'string' && value !== '');

export const emptyOrText: Check = (value) => (value === '' ? undefined : text(value));

/** Not even the kind of a wrong password is worth a look at its value. */
export const secret: Check = (value) =>
  typeof value === 'string' ? undefined : `expected a text, got a ${typeof value}`;

export const flag = expects('true or false', (value) => typeof value === 'boolean');

export const callback = expects('a function', (value) => typeof value === 'function');

export const object = expects('an object', isRecord);

export const flagOrObject: Check = (value) => (typeof value === 'boolean' ? undefined : object(value));

export const array = expects('an array', Array.isArray);

export const oneOrMore = expects(
  'an array with at least one entry',
  (value) => Array.isArray(value) && value.length > 0,
);

export const names = expects(
  "the names of two connections or more, such as ['redis', 'database']",
  (value) => Array.isArray(value) && value.length > 1 && value.every((name) => typeof name === 'string'),
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
      : // Without a scheme, nothing tells a password in it from a name.
        `expected an address like ${example}, got ${shown(typeof value === 'string' ? value.replace(/^([a-z]+:\/\/)?.*@/s, '$1***@') : value)}`;

const REDIS_SCHEME = /^rediss?:\/\//;

const redisAddress = address(REDIS_SCHEME, 'redis://127.0.0.1:6379/0');

export const redisUrl: Check = (value) => redisAddress(value) ?? redisUrlProblem(value as string);

export const redisNodes: Check = (value) => {
  const problem = oneOrMore(value);
  if (problem !== undefined) return problem;
  const urls = (value as readonly unknown[]).filter((node) => typeof node === 'string' && REDIS_SCHEME.test(node));
  return (urls as readonly string[]).map(redisUrlProblem).find((wrong) => wrong !== undefined);
};

export const redisDatabase = integer(0, 65_535);

/** Further options of ioredis; a `db` that is no number would be taken for 0. */
export const redisOptions: Check = (value) => {
  if (!isRecord(value)) return object(value);
  const wrong = value['db'] === undefined ? undefined : redisDatabase(value['db']);
  return wrong && `db: ${wrong}`;
};

export const databasePool: Check = (value) =>
  withMethods('a pool of mysql2', 'getConnection')(value) && withMethods('a pool of pg or mysql2', 'connect')(value);

export const awsCredentials: Check = (value) => {
  if (typeof value === 'function') return undefined;
  const { accessKeyId, secretAccessKey } = Object(value) as Record<string, unknown>;
  return typeof accessKeyId === 'string' && typeof secretAccessKey === 'string'
    ? undefined
    : 'expected { accessKeyId, secretAccessKey }, or a function that gives them';
};

const beanstalkdAddress = address(/^beanstalkd?:\/\//, 'beanstalk://127.0.0.1:11300');

/** There is nobody to tell a password to, and nothing behind the port. */
export const beanstalkdUrl: Check = (value) => {
  const problem = beanstalkdAddress(value);
  if (problem !== undefined) return problem;
  return /^\w+:\/\/(\[[\da-f:.]+\]|[\w.-]+)(:\d+)?\/?$/i.test(value as string) && URL.canParse(value as string)
    ? undefined
    : 'expected a host and a port alone, such as beanstalk://127.0.0.1:11300: beanstalkd knows neither users nor passwords';
};

/** What a check that throws says, without the subject it was given: the path stands before it already. */
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
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

/** The keys that a configuration and each of our drivers take, with the check of each value. */
import { redact } from '../../base/redact';
import { durationSeconds } from '../../job/duration';
import { checkQueueName } from '../../job/queue-name';
import type { Configuration } from './configuration';
import type { Drivers, StoreConfig } from '../../connections/configs';
import { bytesOfSize } from '../../dispatch/payload-size';
import { redisUrlProblem } from './redis-url';

/** What is wrong with a value, in words; undefined: nothing. */
export type Check = (value: unknown) => string | undefined;

export type Keys = Readonly<Record<string, Check>>;

/** A missing key in one of these tables does not compile, nor does one too many. */
type KeysOf<Config> = { readonly [Key in keyof Required<Config>]: Check };

const expects =
  (what: string, holds: (value: unknown) => boolean): Check =>
  (value) =>
    holds(value) ? undefined : `expected ${what}, got ${shown(value)}`;

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = expects('a text', (value) => typeof value === 'string' && value !== '');

/** Not even the kind of a wrong password is worth a look at its value. */
const secret: Check = (value) => (typeof value === 'string' ? undefined : `expected a text, got a ${typeof value}`);

const object = expects('an object', isRecord);

const array = expects('an array', Array.isArray);

const oneOrMore = expects('an array with at least one entry', (value) => Array.isArray(value) && value.length > 0);

const names = expects(
  "the names of two connections or more, such as ['redis', 'database']",
  (value) => Array.isArray(value) && value.length > 1 && value.every((name) => typeof name === 'string'),
);

const integer = (least: number, most: number): Check =>
  expects(
    `a whole number from ${least} to ${most}`,
    (value) => Number.isInteger(value) && (value as number) >= least && (value as number) <= most,
  );

const withMethods = (what: string, ...methods: string[]): Check =>
  expects(
    `${what} with ${methods.join('(), ')}()`,
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      methods.every((method) => typeof (value as Record<string, unknown>)[method] === 'function'),
  );

/** What a check that throws says, without the subject it was given: the path stands before it already. */
const complaint = (check: (subject: string) => void): string | undefined => {
  const subject = 'value';
  try {
    check(subject);
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(`${subject}: `, '');
  }
};

const queueName: Check = (value) => complaint((subject) => checkQueueName(value, subject));

const span: Check = (value) =>
  complaint((subject) => {
    if (durationSeconds(value, subject) === 0) throw new RangeError('expected more than 0');
  });

const lease: Check = (value) =>
  value === null
    ? 'null is refused: the job of a worker that died would never run again. Leave it out for 30 s; a job may run much ' +
      'longer than that, because the lease of a living worker is renewed'
    : span(value);

const flag = expects('true or false', (value) => typeof value === 'boolean');

const size = expects(
  "a size from '1kb' to '512mb', such as '4mb', or a number of bytes",
  (value) => bytesOfSize(value) !== undefined,
);

const address =
  (schemes: RegExp, example: string): Check =>
  (value) =>
    typeof value === 'string' && schemes.test(value)
      ? undefined
      : // Without a scheme, nothing tells a password in it from a name.
        `expected an address like ${example}, got ${shown(typeof value === 'string' ? value.replace(/^([a-z]+:\/\/)?.*@/s, '$1***@') : value)}`;

const REDIS_SCHEME = /^rediss?:\/\//;

const redisAddress = address(REDIS_SCHEME, 'redis://127.0.0.1:6379/0');

const redisUrl: Check = (value) => redisAddress(value) ?? redisUrlProblem(value as string);

const redisNodes: Check = (value) => {
  const problem = oneOrMore(value);
  if (problem !== undefined) return problem;
  const urls = (value as readonly unknown[]).filter((node) => typeof node === 'string' && REDIS_SCHEME.test(node));
  return (urls as readonly string[]).map(redisUrlProblem).find((wrong) => wrong !== undefined);
};

const database = integer(0, 65_535);

/** Further options of ioredis; a `db` that is no number would be taken for 0. */
const redisOptions: Check = (value) => {
  if (!isRecord(value)) return object(value);
  const wrong = value['db'] === undefined ? undefined : database(value['db']);
  return wrong && `db: ${wrong}`;
};

const webAddress = address(/^https?:\/\//, 'https://sqs.eu-west-1.amazonaws.com');

const callback = expects('a function', (value) => typeof value === 'function');

const awsCredentials: Check = (value) => {
  if (typeof value === 'function') return undefined;
  const { accessKeyId, secretAccessKey } = Object(value) as Record<string, unknown>;
  return typeof accessKeyId === 'string' && typeof secretAccessKey === 'string'
    ? undefined
    : 'expected { accessKeyId, secretAccessKey }, or a function that gives them';
};

const beanstalkdAddress = address(/^beanstalkd?:\/\//, 'beanstalk://127.0.0.1:11300');

/** There is nobody to tell a password to, and nothing behind the port. */
const beanstalkdUrl: Check = (value) => {
  const problem = beanstalkdAddress(value);
  if (problem !== undefined) return problem;
  return /^\w+:\/\/(\[[\da-f:.]+\]|[\w.-]+)(:\d+)?\/?$/i.test(value as string) && URL.canParse(value as string)
    ? undefined
    : 'expected a host and a port alone, such as beanstalk://127.0.0.1:11300: beanstalkd knows neither users nor passwords';
};

const COMMON_KEYS = { driver: text, queue: queueName, maxPayload: size, afterCommit: flag } as const;

/** What connections with a store have in common; a driver of the user's own is held to these alone. */
export const STORE_KEYS: KeysOf<StoreConfig & { readonly driver: string }> = {
  ...COMMON_KEYS,
  retryAfter: lease,
  deadline: span,
};

/** By name: a user's own driver, merged into `Drivers`, has its own keys. */
type OurDriver = 'redis' | 'database' | 'sqs' | 'beanstalkd' | 'sync' | 'null' | 'memory' | 'failover';

const OUR_KEYS: { readonly [Driver in OurDriver]: KeysOf<Drivers[Driver]> } = {
  redis: {
    ...STORE_KEYS,
    url: redisUrl,
    host: text,
    port: integer(1, 65_535),
    path: text,
    username: text,
    password: secret,
    db: database,
    tls: (value) => (typeof value === 'boolean' ? undefined : object(value)),
    client: withMethods('a client of ioredis', 'duplicate'),
    cluster: redisNodes,
    sentinels: oneOrMore,
    name: text,
    sentinelPassword: secret,
    options: redisOptions,
    prefix: (value) => (typeof value === 'string' ? undefined : text(value)),
  },
  database: {
    ...STORE_KEYS,
    url: address(
      /^(sqlite:|(postgres(ql)?|mysql|mariadb):\/\/)/,
      'sqlite:./onqueue.sqlite, postgres://user:password@host:5432/database or mysql://user:password@host:3306/database',
    ),
    pool: (value) =>
      withMethods('a pool of mysql2', 'getConnection')(value) &&
      withMethods('a pool of pg or mysql2', 'connect')(value),
    options: object,
    table: text,
  },
  sqs: {
    ...STORE_KEYS,
    region: text,
    endpoint: webAddress,
    prefix: webAddress,
    suffix: text,
    credentials: awsCredentials,
    group: callback,
    deduplicate: callback,
    options: object,
  },
  beanstalkd: {
    ...STORE_KEYS,
    url: beanstalkdUrl,
    prefix: text,
    priority: integer(1, 1023),
  },
  sync: COMMON_KEYS,
  null: COMMON_KEYS,
  memory: { ...COMMON_KEYS, retryAfter: lease },
  failover: { ...COMMON_KEYS, connections: names, retryAfter: lease },
};

const failedProblem = ({ connection, keep, ...rest }: Readonly<Record<string, unknown>>): string | undefined => {
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) return `expected { connection, keep }, got '${unknown}'`;
  if (connection !== undefined && text(connection) !== undefined) return `connection: ${text(connection)}`;
  const isCount = keep === undefined || keep === Infinity || (Number.isSafeInteger(keep) && (keep as number) > 0);
  return isCount ? undefined : `keep: expected a whole number from 1, or Infinity, got ${shown(keep)}`;
};

/** By driver; a driver that is not here is the user's own. */
export const DRIVER_KEYS: Readonly<Record<string, Keys>> = OUR_KEYS;

export const CONFIGURATION_KEYS: KeysOf<Configuration> = {
  default: text,
  connections: object,
  failed: (value) => (isRecord(value) ? failedProblem(value) : text(value)),
  maxPayload: size,
  jobs: array,
  container: withMethods('a container', 'resolve'),
  logger: withMethods('a logger', 'debug', 'info', 'warn', 'error'),
  close: callback,
};

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${redact(value)}'`;
  if (Array.isArray(value)) return value.length === 0 ? 'an empty array' : 'an array';
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}

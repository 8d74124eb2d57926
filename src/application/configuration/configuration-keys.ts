/**
 * The keys of a configuration and of a connection of each driver: how each is checked, what holds without it, and what else
 * the check of a whole configuration must know of it. The tables in `docs/connections.md` are held to these.
 *
 * A new key needs its line in the interface of its configuration, its row here, and the place that acts on it.
 */
import type { Drivers, StoreConfig } from '../../connections/configs';
import { DEFAULT_MAX_PAYLOAD } from '../../dispatch/payload-size';
import type { Configuration, FailedConfig } from './configuration';
import * as value from './configuration-values';
import { type Check, isRecord } from './configuration-values';

export interface Key {
  readonly check: Check;
  /** What holds where nobody says it. */
  readonly default?: unknown;
  /** A bare number of 1000 and more is probably meant as milliseconds. */
  readonly isShort?: true;
  /** It says where the store is: a connection takes one of these. */
  readonly isAddress?: true;
}

export type Keys = Readonly<Record<string, Key>>;

/** A missing key in one of these tables does not compile, nor does one too many. */
type KeysOf<Config> = { readonly [Name in keyof Required<Config>]: Key };

const COMMON_KEYS = {
  driver: { check: value.text },
  queue: { check: value.queueName, default: 'default' },
  maxPayload: { check: value.size, default: DEFAULT_MAX_PAYLOAD },
  afterCommit: { check: value.flag, default: false },
} as const;

const LEASE_KEY = { retryAfter: { check: value.lease, default: 30, isShort: true } } as const;

/** What connections with a store have in common; a driver of the user's own is held to these alone. */
export const STORE_KEYS = {
  ...COMMON_KEYS,
  ...LEASE_KEY,
  deadline: { check: value.span, default: 5, isShort: true },
} as const satisfies KeysOf<StoreConfig & { readonly driver: string }>;

/** By name: a user's own driver, merged into `Drivers`, has its own keys. */
type OurDriver = 'redis' | 'database' | 'sqs' | 'beanstalkd' | 'sync' | 'null' | 'memory' | 'failover';

const webAddress = value.address(/^https?:\/\//, 'https://sqs.eu-west-1.amazonaws.com');

const OUR_KEYS: { readonly [Driver in OurDriver]: KeysOf<Drivers[Driver]> } = {
  redis: {
    ...STORE_KEYS,
    url: { check: value.redisUrl, isAddress: true },
    host: { check: value.text, isAddress: true },
    port: { check: value.integer(1, 65_535) },
    path: { check: value.text, isAddress: true },
    username: { check: value.text },
    password: { check: value.secret },
    db: { check: value.redisDatabase },
    tls: { check: value.flagOrObject },
    client: { check: value.withMethods('a client of ioredis', 'duplicate'), isAddress: true },
    cluster: { check: value.redisNodes, isAddress: true },
    sentinels: { check: value.oneOrMore, isAddress: true },
    name: { check: value.text },
    sentinelPassword: { check: value.secret },
    options: { check: value.redisOptions },
    prefix: { check: value.emptyOrText },
  },
  database: {
    ...STORE_KEYS,
    url: {
      check: value.address(
        /^(sqlite:|(postgres(ql)?|mysql|mariadb):\/\/)/,
        'sqlite:./onqueue.sqlite, postgres://user:password@host:5432/database or mysql://user:password@host:3306/database',
      ),
      isAddress: true,
    },
    pool: { check: value.databasePool, isAddress: true },
    options: { check: value.object },
    table: { check: value.text },
  },
  sqs: {
    ...STORE_KEYS,
    region: { check: value.text },
    endpoint: { check: webAddress },
    prefix: { check: webAddress },
    suffix: { check: value.text },
    credentials: { check: value.awsCredentials },
    group: { check: value.callback },
    deduplicate: { check: value.callback },
    options: { check: value.object },
  },
  beanstalkd: {
    ...STORE_KEYS,
    url: { check: value.beanstalkdUrl, isAddress: true },
    prefix: { check: value.text },
    priority: { check: value.integer(1, 1023) },
  },
  sync: COMMON_KEYS,
  null: COMMON_KEYS,
  memory: { ...COMMON_KEYS, ...LEASE_KEY },
  failover: { ...COMMON_KEYS, connections: { check: value.names }, ...LEASE_KEY },
};

/** By driver; a driver that is not here is the user's own. */
export const DRIVER_KEYS: Readonly<Record<string, Keys>> = OUR_KEYS;

export const FAILED_KEYS = {
  connection: { check: value.text },
  keep: { check: value.countOrInfinity, default: 10_000 },
} as const satisfies KeysOf<FailedConfig>;

const failed: Check = (given) => {
  if (!isRecord(given)) return value.text(given);
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(FAILED_KEYS, key));
  if (unknown !== undefined) return `expected { ${Object.keys(FAILED_KEYS).join(', ')} }, got '${unknown}'`;
  return problemsOf(given, FAILED_KEYS)[0]?.join(': ');
};

export const CONFIGURATION_KEYS: KeysOf<Configuration> = {
  default: { check: value.text },
  connections: { check: value.object },
  failed: { check: failed },
  maxPayload: { check: value.size },
  jobs: { check: value.array },
  container: { check: value.withMethods('a container', 'resolve') },
  logger: { check: value.withMethods('a logger', 'debug', 'info', 'warn', 'error') },
  close: { check: value.callback },
};

/** What is wrong with the values that are given, in the order of the table. */
export function problemsOf(
  values: Readonly<Record<string, unknown>>,
  keys: Keys,
): readonly (readonly [key: string, problem: string])[] {
  return Object.entries(keys).flatMap(([key, { check }]) => {
    const problem = values[key] === undefined ? undefined : check(values[key]);
    return problem === undefined ? [] : [[key, problem] as const];
  });
}

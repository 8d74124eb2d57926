/** The `redis` driver: its configuration and how it is loaded. */
import { STORE_KEYS } from '../../application/configuration/configuration';
import * as value from '../../application/configuration/configuration-values';
import { address } from '../../application/configuration/configuration-values';
import { isRecord } from '../../payload/values';
import { ALL_CAPABLE, type StoreConfig, type Check, type Driver } from '../driver';
import { isIoredis, isPort, masked, problemOfAddress, TLS_NAME } from '../kit/requirements';

export interface RedisNode {
  readonly host: string;
  readonly port?: number | undefined;
}

/** An ioredis client (`Redis` or `Cluster`). Onqueue duplicates it, and never changes or closes it. */
export interface RedisClient {
  duplicate(...options: never[]): object;
}

/** Give one of `client`, `cluster`, `sentinels`, or an address: `url`, or `host` and `port`, or the `path` of a socket. */
export interface RedisConfig extends StoreConfig {
  readonly driver: 'redis';
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. Default: built from `host` and `port`. */
  readonly url?: string | undefined;
  /** The host of Redis. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** The port of `host`. Default: 6379. */
  readonly port?: number | undefined;
  /** The path of a Unix socket. Default: none. */
  readonly path?: string | undefined;
  /** The Redis user. Default: Redis's own default user. */
  readonly username?: string | undefined;
  /** The user's password. Default: none. */
  readonly password?: string | undefined;
  /** The database number; a cluster has only 0. Default: 0. */
  readonly db?: number | undefined;
  /**
   * `true`, or options of `tls.connect`, such as `{ ca: readFileSync('ca.pem') }`; also used for sentinels. Default:
   * `false`.
   */
  readonly tls?: boolean | object | undefined;
  /**
   * An ioredis client, which is duplicated, never changed or closed. Its `keyPrefix` comes before `prefix`. Default: none.
   */
  readonly client?: RedisClient | undefined;
  /** Some nodes of a cluster: URLs, or `{ host, port }`. Default: none. */
  readonly cluster?: readonly (string | RedisNode)[] | undefined;
  /** The sentinels to ask for the master: `{ host, port }`. Default: none. */
  readonly sentinels?: readonly RedisNode[] | undefined;
  /** The name of the master that the sentinels watch. Default: none; required with `sentinels`. */
  readonly name?: string | undefined;
  /** The password of the sentinels. Default: none. */
  readonly sentinelPassword?: string | undefined;
  /** Further ioredis options, except those that the queue depends on. Default: none. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /** Prefix of every key. Default: `queues:`. */
  readonly prefix?: string | undefined;
}

declare module '../driver' {
  interface Drivers {
    redis: RedisConfig;
  }
}

const SCHEME = /^rediss?:\/\//;

const withScheme = address(SCHEME, 'redis://127.0.0.1:6379/0');

const DATABASE = /^\d{1,5}$/;

/** Checks the address of a Redis before a client does, whose error would contain the password. */
const url: Check = (given) => socketProblem(given) ?? withScheme(given) ?? problemOf(given as string);

/** `unix:///run/redis.sock`, `redis+unix://…`, `redis:///run/redis.sock` and a bare path: other clients take them. */
const SOCKET = /^(?:(?:(?:redis\+)?unix|rediss?):\/\/(?:[^/@]*@)?)?(\/[^?#@]+[/.][^?#@]*)(?:\?[^@]*)?$/;

function socketProblem(given: unknown): string | undefined {
  const path = typeof given === 'string' ? SOCKET.exec(given)?.[1] : undefined;
  return path === undefined ? undefined : `a Unix socket is no address; leave url out, and give path: '${path}'`;
}

/** What other clients read in an address. Options of TLS are not only texts, and a client that ignored them would be trusted. */
const TLS_FIELD = /^(?:rejectUnauthorized|ca|cert|key)$/i;

/** The first field of the query that says something about TLS and cannot be. `tls=true` can. */
function tlsFieldIn({ searchParams }: URL): string | undefined {
  return [...searchParams].find(
    ([name, value]) => (TLS_NAME.test(name) || TLS_FIELD.test(name)) && !(name === 'tls' && value === 'true'),
  )?.[0];
}

const each =
  (check: Check): Check =>
  (given) =>
    value.oneOrMore(given) ?? (given as readonly unknown[]).map(check).find((wrong) => wrong !== undefined);

/** What it is may be a password. */
const host: Check = (given) =>
  value.text(given) ??
  (/[\s,@/[\]]|^[^:]*:[^:]*$/.test(given as string)
    ? "expected one host alone, such as 'redis.internal' or '::1'; a port goes into port, several hosts into cluster or sentinels"
    : undefined);

const place: Check = (given) => {
  if (!isRecord(given)) return 'expected { host, port } for each';
  const wrong = host(given['host']);
  if (wrong !== undefined) return `host: ${wrong}`;
  return given['port'] === undefined || isPort(given['port']) ? undefined : 'port: expected a number from 1 to 65535';
};

/** The nodes of a cluster: addresses and hosts. */
const nodes = each((given) =>
  typeof given === 'string'
    ? (value.text(given) ?? problemOf(SCHEME.test(given) ? given : `redis://${given}`))
    : place(given),
);

/**
 * What is wrong with the address, without anything that may be a password. Undefined if nothing is. `given` has a scheme.
 */
function problemOf(given: string): string | undefined {
  const problem = problemOfAddress(given);
  if (problem !== undefined) return problem;
  const url = new URL(given);
  const tlsField = tlsFieldIn(url);
  if (tlsField !== undefined) {
    return `'${tlsField}' in the query of '${masked(given)}' would have no effect; write rediss:// for TLS, and its options in tls: { … }`;
  }
  const databases = [url.pathname.replace(/^\//, ''), url.searchParams.get('db') ?? ''];
  const wrong = databases.find((database) => database !== '' && !DATABASE.test(database));
  return wrong === undefined
    ? undefined
    : `'${wrong}' in '${masked(given)}' is no database; give its number behind the host, from 0: redis://127.0.0.1:6379/0`;
}

const database = value.integer(0, 65_535);

/** A `db` that is not a number would be taken for 0. */
const options: Check = (given) => {
  if (!isRecord(given)) return value.object(given);
  const wrong = given['db'] === undefined ? undefined : database(given['db']);
  return wrong && `db: ${wrong}`;
};

export const redisDriver: Driver<RedisConfig> = {
  name: 'redis',
  keys: {
    ...STORE_KEYS,
    url: { check: url, isAddress: true },
    host: { check: host, isAddress: true },
    port: { check: value.integer(1, 65_535) },
    path: { check: value.text, isAddress: true },
    username: { check: value.text },
    password: { check: value.secret },
    db: { check: database },
    tls: { check: value.flagOrObject },
    client: {
      check: value.expects('a client of ioredis, such as new Redis(…), or url in its place', isIoredis),
      isAddress: true,
    },
    cluster: { check: nodes, isAddress: true },
    sentinels: { check: each(place), isAddress: true },
    name: { check: value.text },
    sentinelPassword: { check: value.secret },
    options: { check: options },
    prefix: { check: value.emptyOrText },
  },
  *problems(config) {
    if (config['sentinels'] !== undefined && config['name'] === undefined) {
      yield ['name', "missing; the sentinels must be told which master, such as name: 'mymaster'"];
    }
    if (config['tls'] === false && typeof config['url'] === 'string' && config['url'].startsWith('rediss:')) {
      yield ['tls', 'false, and url begins with rediss://, which means TLS; leave tls out, or write redis://'];
    }
    if (config['cluster'] !== undefined && (config['db'] ?? 0) !== 0) {
      yield ['db', 'a cluster has database 0 alone; take a prefix of your own to keep jobs apart'];
    }
  },
  stores: { redis: { capabilities: ALL_CAPABLE, lacks: ['transactions'] } },
  connect: (config, context) =>
    (require('./connection') as typeof import('./connection')).connectRedis(config, context),
};

/** What a connection of each driver takes, as it stands in the configuration. */
import type { Duration } from '../job/duration';

/** How large a payload may be. A number is bytes; a text carries its unit, of which a kilobyte has 1024. */
export type Size = number | `${number}${'kb' | 'mb'}`;

/** What every connection takes. */
interface CommonConfig {
  /** The queue that is meant where none is named. Default: `default`. */
  readonly queue?: string | undefined;
  /** How large the text of a job may be here: a number of bytes, or a size from `'1kb'` (1024 bytes) to `'512mb'`. Default: the configuration's. */
  readonly maxPayload?: Size | undefined;
  /** Within `Queue.transaction()`, dispatches to it are sent once that is done, as if each said `afterCommit()`. Default: `false`. */
  readonly afterCommit?: boolean | undefined;
}

/** What every connection with a store takes. */
export interface StoreConfig extends CommonConfig {
  /**
   * The lease: how long a job stays with a worker that has gone silent. It need not be longer than a job takes: living workers
   * renew it. `null` is refused. Default: 30 s.
   */
  readonly retryAfter?: Duration | undefined;
  /** How long a call waits for a store that does not answer. Default: 5 s. */
  readonly deadline?: Duration | undefined;
}

export interface RedisNode {
  readonly host: string;
  readonly port?: number | undefined;
}

/** A client of ioredis (`Redis` or `Cluster`): it is duplicated, never changed or closed. */
export interface RedisClient {
  duplicate(...options: never[]): object;
}

/** Give one of `client`, `cluster`, `sentinels`, or an address: `url`, or `host` and `port`, or the `path` of a socket. */
export interface RedisConfig extends StoreConfig {
  readonly driver: 'redis';
  /** `redis://user:password@host:6379/0`, or `rediss://` for TLS. Default: what `host` and `port` say. */
  readonly url?: string | undefined;
  /** The machine that Redis runs on. Default: `127.0.0.1`. */
  readonly host?: string | undefined;
  /** The port of `host`. Default: 6379. */
  readonly port?: number | undefined;
  /** The file of a Unix socket. Default: none. */
  readonly path?: string | undefined;
  /** The user that Redis knows. Default: Redis's own default user. */
  readonly username?: string | undefined;
  /** The user's password. Default: none. */
  readonly password?: string | undefined;
  /** The number of the database; a cluster has 0 alone. Default: 0. */
  readonly db?: number | undefined;
  /** `true`, or options of `tls.connect`, such as `{ ca: readFileSync('ca.pem') }`; for sentinels as well. Default: `false`. */
  readonly tls?: boolean | object | undefined;
  /** A client of ioredis, which is duplicated, never changed or closed; its `keyPrefix` stands before `prefix`. Default: none. */
  readonly client?: RedisClient | undefined;
  /** Some nodes of a cluster: URLs, or `{ host, port }`. Default: none. */
  readonly cluster?: readonly (string | RedisNode)[] | undefined;
  /** The sentinels that know the master: `{ host, port }`. Default: none. */
  readonly sentinels?: readonly RedisNode[] | undefined;
  /** The name of the master that the sentinels watch. Default: none; required with `sentinels`. */
  readonly name?: string | undefined;
  /** The password of the sentinels. Default: none. */
  readonly sentinelPassword?: string | undefined;
  /** Further options of ioredis; those that the queue depends on are set by it. Default: none. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /** Stands before every key. Default: `queues:`. */
  readonly prefix?: string | undefined;
}

/** A pool of connections to a database server: a `pg.Pool`, or one of mysql2. */
export type DatabasePool = { connect(): Promise<object> } | { getConnection(...callback: never[]): unknown };

/** Give one of `url` and `pool`; without either it is a SQLite file. */
export interface DatabaseConfig extends StoreConfig {
  readonly driver: 'database';
  /**
   * `sqlite:./onqueue.sqlite`, where a relative path starts at the project's folder, the nearest with a package.json; or a
   * server: `postgres://user:password@host:5432/database`, `mysql://user:password@host:3306/database`. Default:
   * `sqlite:./onqueue.sqlite`.
   */
  readonly url?: string | undefined;
  /**
   * In place of `url`, a pool of your own, never closed or changed: a `pg.Pool` is used; of one of mysql2 the settings are,
   * for connections that take several statements at once. Default: none.
   */
  readonly pool?: DatabasePool | undefined;
  /** Further options of a server's client, such as `ssl`. Default: `max: 5` (`pg.Pool`) or `connectionLimit: 5` (mysql2). */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /** The table of jobs; the others are named after it. Default: `jobs`. */
  readonly table?: string | undefined;
}

/** What a payload says, as it is sent: `displayName`, `data`, what `createPayloadUsing` added, … */
export type SqsPayload = Readonly<Record<string, unknown>>;

export interface SqsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Amazon SQS, through `@aws-sdk/client-sqs`. */
export interface SqsConfig extends StoreConfig {
  readonly driver: 'sqs';
  /** Where the queues are: `eu-west-1`. Default: what the AWS SDK finds (`AWS_REGION`, a profile). */
  readonly region?: string | undefined;
  /** The address of another service that speaks SQS. Default: that of the region. */
  readonly endpoint?: string | undefined;
  /** The beginning of the queues' URLs: `https://sqs.eu-west-1.amazonaws.com/123456789012`. Default: SQS is asked for each name (`sqs:GetQueueUrl`). */
  readonly prefix?: string | undefined;
  /** Stands behind each queue's name, before `.fifo`: `-staging`. Default: nothing. */
  readonly suffix?: string | undefined;
  /** `{ accessKeyId, secretAccessKey, sessionToken }`, or a function that gives them. Default: what the AWS SDK finds (the environment, a profile, the role of the machine). */
  readonly credentials?: SqsCredentials | (() => Promise<SqsCredentials>) | undefined;
  /**
   * Gives the message group of a job: on a FIFO queue those of one group run one after the other, on a standard queue groups
   * share workers fairly. Default: on a FIFO queue the queue's name, on others none; the same where it gives undefined.
   */
  readonly group?: ((payload: SqsPayload) => string | undefined) | undefined;
  /** Gives a key on a FIFO queue: of jobs with one key that are dispatched within five minutes, SQS keeps the first. Default: all are kept. */
  readonly deduplicate?: ((payload: SqsPayload) => string | undefined) | undefined;
  /** Further options of the SDK's `SQSClient`: `{ requestHandler: { httpsAgent: … } }`. Default: none. */
  readonly options?: Readonly<Record<string, unknown>> | undefined;
}

export interface BeanstalkdConfig extends StoreConfig {
  readonly driver: 'beanstalkd';
  /** Host and port, of which the port may be left out; there are neither users nor passwords. Default: `beanstalk://127.0.0.1:11300`. */
  readonly url?: string | undefined;
  /** Stands before every tube's name, where applications share a server. Default: nothing. */
  readonly prefix?: string | undefined;
  /** The priority, within their tube, of the jobs that this connection pushes: 1 runs first, 1023 last. Default: 512. */
  readonly priority?: number | undefined;
}

/** Jobs run at once, in place of the push. */
export interface SyncConfig extends CommonConfig {
  readonly driver: 'sync';
}

/** Jobs are thrown away. */
export interface NullConfig extends CommonConfig {
  readonly driver: 'null';
}

/** Jobs live in this process, and end with it. */
export interface MemoryConfig extends CommonConfig {
  readonly driver: 'memory';
  readonly retryAfter?: Duration | undefined;
}

/** Jobs go to the first of several connections that takes them; workers, and all else, to the first alone. */
export interface FailoverConfig extends CommonConfig {
  readonly driver: 'failover';
  /** Their names, in the order in which they are asked. The smallest `maxPayload` among them holds for all. */
  readonly connections: readonly string[];
  readonly retryAfter?: Duration | undefined;
}

/**
 * The drivers by name. For one of your own, add to it:
 * `declare module 'onqueue' { interface Drivers { mine: MyConfig } }`, where `MyConfig` has `driver: 'mine'`.
 */
export interface Drivers {
  redis: RedisConfig;
  database: DatabaseConfig;
  sqs: SqsConfig;
  beanstalkd: BeanstalkdConfig;
  sync: SyncConfig;
  null: NullConfig;
  memory: MemoryConfig;
  failover: FailoverConfig;
}

export type ConnectionConfig = Drivers[keyof Drivers];

/**
 * What is known about one of our drivers before it is loaded: its configuration keys, what its stores can do, and how to
 * load it. The configuration check, errors and the tables in the documentation use only this, so that a new driver is
 * a folder with a `driver.ts`, and an entry in `built-in.ts`.
 */
import type { Capabilities, Connection } from './contract';
import type { Duration } from '../job/duration';
import type { Clock } from '../base/clock';
import type { Logger } from '../base/logger';
import type { Application, ConnectionSettings } from './application';

/** Returns what is wrong with a value, in words; undefined if nothing is. */
export type Check = (value: unknown) => string | undefined;

export interface Key {
  readonly check: Check;
  /** The value if it is not given. */
  readonly default?: unknown;
  /** A bare number of 1000 or more is probably meant as milliseconds. */
  readonly isShort?: true;
  /** It says where the store is: a connection takes only one such key. */
  readonly isAddress?: true;
}

export type Keys = Readonly<Record<string, Key>>;

/** If one of these tables lacks a key or has one too many, it does not compile. */
export type KeysOf<Config> = { readonly [Name in keyof Required<Config>]: Key };

export interface Driver<Config extends ConnectionConfig = ConnectionConfig> {
  readonly name: Config['driver'];
  readonly keys: KeysOf<Config>;
  /** Problems of a configuration whose values are each valid, with the key at fault. */
  problems?(this: void, config: Readonly<Record<string, unknown>>): Iterable<readonly [key: string, problem: string]>;
  /** The key that names the connections it stands in front of: it can do what the first one can. */
  readonly members?: string;
  /** Its stores, by the names used in the documentation. Empty: see `members`. */
  readonly stores: Readonly<Record<string, Store>>;
  /** Why its connections cannot be members of a failover, to follow the connection's name. Absent: they can. */
  readonly noMember?: string;
  /** It discards jobs, so it is never suggested for a mistyped driver name. */
  readonly throwsAway?: true;
  /** The connector. It loads the driver, so that nobody pays for a client that is not used. */
  connect(this: void, config: Config, context: ConnectorContext): Connection;
}

/** The members that a connection may lack: whether it has them. */
const MEMBERS = {
  renew: (connection) => connection.renew !== undefined,
  clear: ({ queues }) => queues.clear !== undefined,
  peek: ({ queues }) => queues.peek !== undefined,
  find: ({ queues }) => queues.find !== undefined,
  failed: ({ failed }) => failed !== undefined,
  locks: ({ locks }) => locks !== undefined,
  keys: ({ keys }) => keys !== undefined,
  batches: ({ batches }) => batches !== undefined,
  lanes: ({ lanes }) => lanes !== undefined,
  control: ({ control }) => control !== undefined,
  reschedule: ({ control }) => control?.reschedule !== undefined,
  limits: ({ control }) => control?.limit !== undefined,
  records: ({ records }) => records !== undefined,
  recordWake: ({ records }) => records?.wake !== undefined,
  transactions: (connection) => connection.within !== undefined,
} satisfies Readonly<Record<string, (connection: Connection) => boolean>>;

type Member = keyof typeof MEMBERS;

/** What a connection may lack: a promise, or a member. */
export type Capability = keyof Capabilities | Member;

/** What a store can do. */
export interface Store {
  readonly capabilities: Capabilities;
  /** The members that its connections lack. */
  readonly lacks: readonly Member[];
}

const isMember = (capability: Capability): capability is Member => Object.hasOwn(MEMBERS, capability);

export function isAble(connection: Connection, capability: Capability): boolean {
  if (isMember(capability)) return MEMBERS[capability](connection);
  return Boolean(connection.capabilities[capability]);
}

/** Flags of older versions, besides those that are members now. */
const OLDER_FLAGS = ['counts', 'ties', 'operations', 'wake', 'isDivided'];

/** What a driver of the user's has of an older version, by name. Undefined if it is made for this one. */
export function olderMemberOf(connection: Connection): string | undefined {
  const { capabilities, queues } = connection;
  if ('pushOnce' in connection && connection.keys === undefined) return 'pushOnce';
  const ofCalls = ['reserve', 'settle', 'settleAndReserve', 'waiter'].find((name) => name in connection);
  if (connection.exchange === undefined && ofCalls !== undefined) return ofCalls;
  const flag = [...Object.keys(MEMBERS), ...OLDER_FLAGS].find((name) => name in capabilities);
  if (flag !== undefined) return `capabilities.${flag}`;
  return typeof queues === 'function' ? 'queues()' : undefined;
}

const known = new Map<unknown, Driver>();

/** Registers our drivers, for modules below that may not import them. */
export function setDrivers(drivers: readonly Driver[]): void {
  for (const driver of drivers) known.set(driver.name, driver);
}

/** Undefined if it is not one of ours. */
export function driverNamed(name: unknown): Driver | undefined {
  return known.get(name);
}

/** Whether a driver hands jobs to workers, or might: it is not ours, or depends on its `members`. */
export function keepsJobs(name: string): boolean {
  const stores = Object.values(known.get(name)?.stores ?? {});
  return stores.length === 0 || stores.some(({ capabilities }) => capabilities.reserve);
}

/** The connections that keep jobs for other processes, or might. */
export function keepingConnections(application: Pick<Application, 'connectionNames' | 'settings'>): string[] {
  return application.connectionNames().filter((name) => keepsJobs(application.settings(name).driver));
}

/** Our drivers that keep jobs and have the capability, for at least one of their stores. */
export function driversWith(capability: Capability): readonly string[] {
  const isAbleStore = ({ capabilities, lacks }: Store): boolean =>
    capabilities.reserve && (isMember(capability) ? !lacks.includes(capability) : capabilities[capability] === true);
  const able = [...known.values()].filter(({ stores }) => Object.values(stores).some(isAbleStore));
  return able.map(({ name }) => name);
}

/** The size of a payload. A number means bytes; a text carries its unit, and a kilobyte has 1024 bytes. */
export type Size = number | `${number}${'kb' | 'mb'}`;

/** The keys of every connection. */
export interface CommonConfig {
  /** The queue that is used if none is named. Default: `default`. */
  readonly queue?: string | undefined;
  /** The largest payload of a job here: a number of bytes, or a size from `'1kb'` (1024 bytes) to `'512mb'`. Default: the configuration's. */
  readonly maxPayload?: Size | undefined;
  /** Within `Queue.transaction()`, dispatches to this connection are sent after it, as if each called `afterCommit()`. Default: `false`. */
  readonly afterCommit?: boolean | undefined;
}

/** The keys of every connection with a store. */
export interface StoreConfig extends CommonConfig {
  /**
   * The lease: how long a job stays with a worker that has gone silent, in seconds or as `'30s'`. It may be shorter than a job takes, because a running
   * worker renews it. `null` is refused. Default: 30 s.
   */
  readonly retryAfter?: Duration | undefined;
  /** How long a call waits for the store to answer, in seconds or as `'5s'`. Default: 5 s. */
  readonly deadline?: Duration | undefined;
}

/**
 * The keys of each driver's connections, by the driver's name. The built-in drivers add theirs in their `driver.ts`. For your own:
 * `declare module 'onqueue' { interface Drivers { mine: MyConfig } }`, where `MyConfig` has `driver: 'mine'`.
 */
export interface Drivers {}

export type ConnectionConfig = Drivers[keyof Drivers];

export interface ConnectorContext extends ConnectionSettings {
  readonly clock: Clock;
  readonly logger: Logger;
  /** The project's folder, the base of relative paths. */
  readonly root: string;
  /** Where the address came from, as a clause, if not from the configuration: `REDIS_URL came from the environment`. */
  readonly origin: string | undefined;
  /** The `QueueManager` that the connection belongs to. */
  readonly manager: Application;
}

/** Makes a connection from its part of the configuration, once, on its first use. Opens nothing yet: a program that never dispatches needs no store. */
export type Connector<Config = Drivers[keyof Drivers]> = (config: Config, context: ConnectorContext) => Connection;

/** The connectors of our own drivers, each with its configuration. */
export type Connectors = { readonly [Driver in keyof Drivers]?: Connector<Drivers[Driver]> };

/** Promises everything. */
export const ALL_CAPABLE: Capabilities = {
  delay: true,
  moments: true,
  reserve: true,
  exactCounts: true,
  order: true,
  requeue: true,
  follows: true,
};

/** A store that hands out jobs, and keeps nothing else. */
export const JOBS_ALONE: Store = {
  capabilities: { ...ALL_CAPABLE, moments: false, requeue: false, follows: false },
  lacks: [
    'peek',
    'find',
    'failed',
    'locks',
    'keys',
    'batches',
    'lanes',
    'control',
    'reschedule',
    'limits',
    'records',
    'recordWake',
    'transactions',
  ],
};

/** What keeps no jobs. */
export const STORELESS: Store = {
  capabilities: { delay: false, reserve: false, exactCounts: true, order: false, requeue: false },
  lacks: ['renew', ...JOBS_ALONE.lacks.filter((member) => member !== 'peek')],
};

/**
 * What is known about one of our drivers before it is loaded: its configuration keys, the capabilities of its stores, and
 * how to load it. The configuration check, errors and the tables in the documentation use only this, so that a new driver is
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
  /** The key that names the connections it stands in front of: it has the capabilities of the first one. */
  readonly members?: string;
  /** The capabilities of each of its stores, by the names used in the documentation. Empty: see `members`. */
  readonly stores: Readonly<Record<string, Capabilities>>;
  /** Its connections have `within`. */
  readonly transactions?: true;
  /** Why its connections cannot be members of a failover, to follow the connection's name. Absent: they can. */
  readonly noMember?: string;
  /** It discards jobs, so it is never suggested for a mistyped driver name. */
  readonly throwsAway?: true;
  /** The connector. It loads the driver, so that nobody pays for a client that is not used. */
  connect(this: void, config: Config, context: ConnectorContext): Connection;
}

/** A capability; `transactions` if the driver has `within`. */
export type Capability = keyof Capabilities | 'transactions';

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
  return stores.length === 0 || stores.some(({ reserve }) => reserve);
}

/** Our drivers that keep jobs and have the capability, for at least one of their stores. */
export function driversWith(capability: Capability): readonly string[] {
  const able = [...known.values()].filter(({ stores, transactions }) =>
    capability === 'transactions'
      ? transactions === true
      : Object.values(stores).some((store) => store.reserve && store[capability] === true),
  );
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
   * The lease: how long a job stays with a worker that has gone silent. It may be shorter than a job takes, because a running
   * worker renews it. `null` is refused. Default: 30 s.
   */
  readonly retryAfter?: Duration | undefined;
  /** How long a call waits for the store to answer. Default: 5 s. */
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

/** Lacks nothing. */
export const ALL_CAPABLE: Capabilities = {
  delay: true,
  moments: true,
  reserve: true,
  renew: true,
  counts: true,
  exactCounts: true,
  order: true,
  requeue: true,
  clear: true,
  peek: true,
  failed: true,
  locks: true,
  follows: true,
  ties: true,
  batches: true,
  control: true,
  operations: true,
  recordWake: true,
};

/** Hands out jobs, and keeps nothing else. */
export const JOBS_ALONE: Capabilities = {
  ...ALL_CAPABLE,
  moments: false,
  requeue: false,
  peek: false,
  failed: false,
  locks: false,
  follows: false,
  ties: false,
  batches: false,
  control: false,
  operations: false,
  recordWake: false,
};

/** Keeps no jobs. */
export const STORELESS: Capabilities = {
  delay: false,
  reserve: false,
  renew: false,
  counts: true,
  exactCounts: true,
  order: false,
  requeue: false,
  clear: false,
  peek: false,
  failed: false,
  locks: false,
  control: false,
};

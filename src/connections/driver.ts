/**
 * What is known of a driver of ours before it is loaded: the keys of its configuration, what its stores can do, how it is
 * loaded. The check of a configuration, errors and the tables of the documentation go by this alone, so that a new driver is a
 * folder with one of these in its `driver.ts`, and its entry in `built-in.ts`.
 */
import type { ConnectionConfig } from './configs';
import type { ConnectorContext } from './connector';
import type { Capabilities, Connection } from './contract';

/** What is wrong with a value, in words; undefined: nothing. */
export type Check = (value: unknown) => string | undefined;

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
export type KeysOf<Config> = { readonly [Name in keyof Required<Config>]: Key };

export interface Driver<Config extends ConnectionConfig = ConnectionConfig> {
  readonly name: Config['driver'];
  readonly keys: KeysOf<Config>;
  /** What is wrong with a configuration although each of its values may be right, by the key at fault. */
  problems?(this: void, config: Readonly<Record<string, unknown>>): Iterable<readonly [key: string, problem: string]>;
  /** The key that names other connections, which it stands before: it can do what the first of them can. */
  readonly members?: string;
  /** What each of its stores can do, by the names that the documentation shows. None: see `members`. */
  readonly stores: Readonly<Record<string, Capabilities>>;
  /** Its connections have `within`. */
  readonly transactions?: true;
  /** Why a connection of it is none of a failover's, behind the connection's name. Absent: it may be one. */
  readonly noMember?: string;
  /** It throws jobs away: whoever mistypes the name of another driver must not be led to it. */
  readonly throwsAway?: true;
  /** A connector. It loads the driver: nobody pays for a client that is not asked for. */
  connect(this: void, config: Config, context: ConnectorContext): Connection;
}

/** What a driver can do; `transactions`, where it has a `within`. */
export type Capability = keyof Capabilities | 'transactions';

const known = new Map<unknown, Driver>();

/** Makes ours known to all that stands below them, and may not import them. */
export function setDrivers(drivers: readonly Driver[]): void {
  for (const driver of drivers) known.set(driver.name, driver);
}

/** Undefined: it is none of ours. */
export function driverNamed(name: unknown): Driver | undefined {
  return known.get(name);
}

/** Whether a driver hands jobs to workers, or might: it is not ours, or goes by its `members`. */
export function keepsJobs(name: string): boolean {
  const stores = Object.values(known.get(name)?.stores ?? {});
  return stores.length === 0 || stores.some(({ reserve }) => reserve);
}

/** Those of ours that keep jobs and have the capability, on one of their stores at least. */
export function driversWith(capability: Capability): readonly string[] {
  const able = [...known.values()].filter(({ stores, transactions }) =>
    capability === 'transactions'
      ? transactions === true
      : Object.values(stores).some((store) => store.reserve && store[capability] === true),
  );
  return able.map(({ name }) => name);
}

/**
 * What is known about one of our drivers before it is loaded: its configuration keys, the capabilities of its stores, and
 * how to load it. The configuration check, errors and the tables in the documentation use only this, so that a new driver is
 * a folder with a `driver.ts`, and an entry in `built-in.ts`.
 */
import type { ConnectionConfig } from './configs';
import type { ConnectorContext } from './connector';
import type { Capabilities, Connection } from './contract';

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

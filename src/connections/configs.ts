/** The keys of connections in the configuration: of all connections, of all with a store, and in `Drivers` those of each driver. */
import type { Duration } from '../job/duration';

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

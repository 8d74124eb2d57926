/** What connections take, as it stands in the configuration: all of them, all with a store, and, by `Drivers`, those of each driver. */
import type { Duration } from '../job/duration';

/** How large a payload may be. A number is bytes; a text carries its unit, of which a kilobyte has 1024. */
export type Size = number | `${number}${'kb' | 'mb'}`;

/** What every connection takes. */
export interface CommonConfig {
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

/**
 * What connections of each driver take, by the driver's name. Ours add theirs, each in its `driver.ts`. For one of your own:
 * `declare module 'onqueue' { interface Drivers { mine: MyConfig } }`, where `MyConfig` has `driver: 'mine'`.
 */
export interface Drivers {}

export type ConnectionConfig = Drivers[keyof Drivers];

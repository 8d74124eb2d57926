/** Makes a connection from its part of the configuration. */
import type { Clock, Seconds } from '../base/clock';
import type { Logger } from '../base/logger';
import type { Application } from './application';
import type { Drivers } from './configs';
import type { Connection } from './contract';

/** A connection's settings with their defaults, durations in seconds. */
export interface ConnectionSettings {
  /** Its name in the configuration. */
  readonly name: string;
  readonly driver: string;
  readonly queue: string;
  readonly retryAfter: Seconds;
  readonly deadline: Seconds;
  /** The largest payload accepted, in bytes. */
  readonly maxPayload: number;
  /** Dispatches within `Queue.transaction()` wait for its end. */
  readonly afterCommit?: boolean | undefined;
}

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

/** Called once per connection, on its first use. Opens nothing yet: a program that never dispatches needs no store. */
export type Connector<Config = Drivers[keyof Drivers]> = (config: Config, context: ConnectorContext) => Connection;

/** The connectors of our own drivers, each with its configuration. */
export type Connectors = { readonly [Driver in keyof Drivers]?: Connector<Drivers[Driver]> };

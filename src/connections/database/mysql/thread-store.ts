/** The module that another thread opens the same tables with; see `ThreadAccess`. */
import { type Seconds, systemClock } from '../../../clock/clock';
import { silentLogger } from '../../../logger/console-logger';
import type { DatabaseConfig } from '../../../queue/configuration';
import type { StoreThread } from '../../../queue/connection';
import { connectMysql } from './mysql-connection';

export interface ThreadData extends Pick<DatabaseConfig, 'url' | 'options'> {
  /** The connection's name in the configuration. */
  readonly name: string;
  readonly table: string;
  readonly deadline: Seconds;
  readonly origin: string | undefined;
}

/** What it has to say, it says by errors. */
export function open({ url, options, ...data }: ThreadData, deadline: Seconds): StoreThread {
  const context = { ...data, deadline: Math.min(data.deadline, deadline), clock: systemClock, logger: silentLogger };
  return connectMysql({ driver: 'database', url, options }, context);
}

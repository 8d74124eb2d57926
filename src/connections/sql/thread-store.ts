/** The module that another thread opens the same tables with; see `ThreadAccess`. What it has to say, it says by errors. */
import { type Seconds, systemClock } from '../../base/clock';
import { silentLogger } from '../../base/console-logger';
import type { StoreThread } from '../contract';
import { connectDatabase } from './database-connection';
import type { ThreadData } from './thread-access';

/** All workers of a process share them, and only renew leases there: a server has few connections. */
const MOST_CONNECTIONS = 2;

export function open({ url, options, table, ...data }: ThreadData, deadline: Seconds): StoreThread {
  return connectDatabase(
    { driver: 'database', url, options, table },
    {
      ...data,
      deadline: Math.min(data.deadline, deadline),
      clock: systemClock,
      logger: silentLogger,
      mostConnections: MOST_CONNECTIONS,
    },
  );
}

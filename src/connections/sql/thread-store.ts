/** The module with which another thread opens the same tables; see `ThreadAccess`. It reports problems only as errors. */
import { systemClock, type Seconds } from '../../base/clock';
import { silentLogger } from '../../base/logger';
import type { StoreThread } from '../contract';
import { connectDatabase } from './database-connection';
import type { ThreadData } from './thread-access';

/** All workers of a process share them, only to renew leases: a server has few connections. */
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

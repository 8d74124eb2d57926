/** How another thread opens the same tables on a server, with what can be copied to it; see `ThreadAccess`. */
import { type Seconds, systemClock } from '../../../base/clock';
import { silentLogger } from '../../../base/console-logger';
import type { DatabaseConfig } from '../../configs';
import type { StoreThread, ThreadAccess } from '../../contract';
import { threadModule } from '../../../base/thread-module';
import type { ServerContext } from './server-context';

export interface ThreadData
  extends Pick<DatabaseConfig, 'url' | 'options'>, Pick<ServerContext, 'name' | 'table' | 'deadline' | 'origin'> {}

/** Undefined: it cannot. @param folder where the module `thread-store` stands */
export function threadAccessOf(
  folder: 'mysql' | 'postgres',
  { url, options, pool }: DatabaseConfig,
  { name, table, deadline, origin, offset }: ServerContext,
): ThreadAccess | undefined {
  if (pool !== undefined || offset !== undefined) return undefined;
  try {
    const data: ThreadData = { name, table, deadline, origin, url, options: structuredClone(options) };
    return { module: threadModule(`connections/sql/${folder}/thread-store`), data };
  } catch {
    return undefined;
  }
}

/** All workers of a process share them, and only renew leases there: a server has few connections. */
const MOST_CONNECTIONS = 2;

/** What it has to say, it says by errors. @param most the option that says how many connections there may be */
export function openInThread(
  connect: (config: DatabaseConfig, context: ServerContext) => StoreThread,
  most: 'max' | 'connectionLimit',
  { url, options, ...data }: ThreadData,
  deadline: Seconds,
): StoreThread {
  const context = { ...data, deadline: Math.min(data.deadline, deadline), clock: systemClock, logger: silentLogger };
  const connections = Math.min(MOST_CONNECTIONS, Number(options?.[most] ?? MOST_CONNECTIONS));
  return connect({ driver: 'database', url, options: { ...options, [most]: connections } }, context);
}

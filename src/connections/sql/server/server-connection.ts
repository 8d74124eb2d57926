/** Makes the connection to a database server from the parts of its dialect and driver. */
import { StoreClock, type Milliseconds } from '../../../base/clock';
import type { DatabaseConfig } from '../driver';
import type { OpenContext } from '../database-connection';
import { timeOf } from '../jobs';
import { SqlConnection, type SqlParts } from '../sql-connection';
import { threadAccessOf } from '../thread-access';
import { ServerCaller, type CallerSettings } from './server-caller';
import { ServerTables, type Schema } from './server-tables';

/** Enough for a worker, the renewal of its leases, and dispatches. */
export const MOST_CONNECTIONS = 5;

/** A host that drops packets must not use up the deadline of a dispatch. */
export const connectTimeout = ({ deadline }: Pick<OpenContext, 'deadline'>): Milliseconds =>
  Math.min(2, deadline / 2) * 1000;

interface ServerParts
  extends
    Pick<SqlParts, 'address' | 'pushesAtOnce' | 'pushedPage' | 'dialect' | 'waking' | 'recordWakes'>,
    Pick<CallerSettings, 'product' | 'errors' | 'pool'> {
  readonly config: DatabaseConfig;
  readonly context: OpenContext;
  readonly schema: Schema;
}

export function serverConnection({
  config,
  context,
  schema,
  product,
  errors,
  pool,
  ...parts
}: ServerParts): SqlConnection {
  const { name, clock, logger, deadline, origin } = context;
  const { address, dialect } = parts;
  const caller = new ServerCaller({ name, address, clock, deadline, origin, product, errors, pool });
  const tables = new ServerTables(schema, caller, logger);
  const storeClock = new StoreClock(clock);
  const ask = async (): Promise<number> =>
    (await caller.run({ consequence: 'the time of the server was not read' }, () => timeOf(dialect))) * 1000;
  return new SqlConnection({
    ...parts,
    name,
    engine: caller,
    clock,
    tables,
    threadAccess: threadAccessOf(config, context),
    now: () => storeClock.current(ask),
    diagnose: () => tables.diagnose(),
  });
}

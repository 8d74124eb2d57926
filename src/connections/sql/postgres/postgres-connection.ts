/** The `database` driver on PostgreSQL. */
import { ALL_CAPABLE } from '../../kit/all-capable';
import type { Seconds } from '../../../base/clock';
import type { DatabaseConfig } from '../../configs';
import { DatabaseUrlError } from '../errors';
import type { Dialect } from '../server/dialect';
import { ServerCaller } from '../server/server-caller';
import { ServerConnection } from '../server/server-connection';
import type { ServerContext } from '../server/server-context';
import { threadAccessOf } from '../server/server-thread';
import { type TableNames, tableNames } from '../table-names';
import { identifiers } from './identifiers';
import { loadPg, type PgClient, type PgClientClass, type PgPool, sqlPool } from './pg';
import { postgresErrors } from './postgres-errors';
import { PostgresFailed } from './postgres-failed';
import { PostgresHints } from './postgres-hints';
import { PostgresJobs } from './postgres-jobs';
import { PostgresLocks } from './postgres-locks';
import { PostgresOrders } from './postgres-orders';
import { PostgresSchema } from './postgres-schema';
import { transactionSession } from './transaction-session';

/** A host that drops packets must not use up the deadline of a dispatch. */
const CONNECT_TIMEOUT: Seconds = 2;
/** A worker, its leases, and what is dispatched meanwhile. */
const MOST_CONNECTIONS = 5;

/** Connects with the first call, not before. @throws E_MISSING_PEER, DatabaseUrlError, DatabaseTableNameError */
export function connectPostgres(config: DatabaseConfig, context: ServerContext): ServerConnection {
  const { name, clock, deadline, origin, offset = () => 0 } = context;
  const { pool, newClient, address } = sourceOf(config, context);
  const names = tableNames(context.table, name);
  const dialect = postgresDialect(names, address, offset);
  const { channel } = identifiers(names);
  return new ServerConnection({
    name,
    address,
    dialect,
    capabilities: ALL_CAPABLE,
    clock,
    caller: new ServerCaller({
      name,
      address,
      clock,
      deadline,
      origin,
      dialect,
      pool: sqlPool(pool, config.pool === undefined),
    }),
    waiters: new PostgresHints({ name, clock, deadline, channel, connect: newClient }),
    threadAccess: threadAccessOf('postgres', config, context),
    sessionOf: transactionSession,
  });
}

function postgresDialect(names: TableNames, address: string, offset: () => Seconds): Dialect {
  const ids = identifiers(names);
  return {
    product: 'PostgreSQL',
    transactions: false,
    jobs: new PostgresJobs(ids, offset),
    failed: new PostgresFailed(ids, offset),
    locks: new PostgresLocks(ids, offset),
    orders: new PostgresOrders(ids, offset),
    schema: new PostgresSchema(names, address),
    errors: postgresErrors,
  };
}

interface Source {
  readonly pool: PgPool;
  /** A client that is not connected yet, with the pool's settings. */
  readonly newClient: () => PgClient;
  readonly address: string;
}

function sourceOf(config: DatabaseConfig, context: ServerContext): Source {
  if (config.pool !== undefined) return sourceOfPool(config.pool as PgPool, context);
  const { Client, Pool } = loadPg(context.name);
  const options = {
    connectionString: config.url,
    application_name: 'onqueue',
    keepAlive: true,
    max: MOST_CONNECTIONS,
    connectionTimeoutMillis: Math.min(CONNECT_TIMEOUT, context.deadline / 2) * 1000,
    ...config.options,
    // An idle connection keeps no process alive.
    allowExitOnIdle: true,
  };
  const newClient = (): PgClient => new Client(options);
  const address = addressOf(newClient, context.name);
  const pool = new Pool(options);
  // Of a connection that ends while nobody uses it, which it then forgets.
  pool.on('error', () => undefined);
  return { pool, newClient, address };
}

function sourceOfPool(pool: PgPool, { name }: ServerContext): Source {
  const Client: PgClientClass = pool.Client ?? loadPg(name).Client;
  const newClient = (): PgClient => new Client(pool.options ?? {});
  return { pool, newClient, address: addressOf(newClient, name) };
}

/** pg alone reads addresses. */
function addressOf(newClient: () => PgClient, connection: string): string {
  let client: PgClient;
  try {
    client = newClient();
  } catch {
    // Its message may quote a part of the address.
    throw new DatabaseUrlError(connection, 'postgres', 'it cannot be read as an address.');
  }
  const { host, port, user, database } = client;
  const place = host.startsWith('/') ? `${host}:${port}` : `//${user ?? ''}@${host}:${port}`;
  return `postgres:${place}/${database ?? ''}`;
}

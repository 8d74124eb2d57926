/** The `database` driver on PostgreSQL. */
import type { DatabaseConfig } from '../driver';
import type { OpenContext } from '../opening';
import { optionIn, schemaIn, tableNames } from '../address';
import { badDatabaseUrl, UNREADABLE } from '../errors';
import { bracketed } from '../../kit/requirements';
import { connectTimeout, MOST_CONNECTIONS, serverConnection } from '../server/caller';
import type { SqlConnection } from '../connection';
import { identifiers } from './names';
import { loadPg, sqlPool, type PgClient, type PgClientClass, type PgPool } from './client';
import { postgresDialect } from './dialect';
import { postgresErrors } from './errors';
import { postgresHints, postgresRecordWakes } from './channel';
import { postgresSchema } from './schema';

/** Connects on the first call. @throws E_MISSING_PEER, E_DATABASE_URL, E_DATABASE_TABLE_NAME */
export function connectPostgres(config: DatabaseConfig, context: OpenContext): SqlConnection {
  const { name, clock, deadline, offset = () => 0 } = context;
  const { pool, newClient, address } = sourceOf(config, context);
  const names = tableNames(context.table, name);
  const { channel, recordChannel } = identifiers(names);
  const listening = { clock, deadline, connect: newClient };
  return serverConnection({
    config,
    context,
    address,
    product: 'PostgreSQL',
    errors: postgresErrors,
    dialect: postgresDialect(names, offset),
    schema: postgresSchema(names, offset),
    pool: sqlPool(pool, config.pool === undefined),
    waiters: {
      ...postgresHints({ ...listening, channel }),
      records: postgresRecordWakes({ ...listening, channel: recordChannel }),
    },
  });
}

interface Source {
  readonly pool: PgPool;
  /** A client that is not connected yet, with the pool's settings. */
  readonly newClient: () => PgClient;
  readonly address: string;
}

function sourceOf(config: DatabaseConfig, context: OpenContext): Source {
  if (config.pool !== undefined) return sourceOfPool(config.pool as object as PgPool, context);
  const { Client, Pool } = loadPg(context.name);
  const options = {
    connectionString: withSearchPath(config),
    application_name: 'onqueue',
    keepAlive: true,
    connectionTimeoutMillis: connectTimeout(context),
    ...config.options,
    max: Math.min(Number(config.options?.['max'] ?? MOST_CONNECTIONS), context.mostConnections ?? Infinity),
    // An idle connection keeps no process alive.
    allowExitOnIdle: true,
  };
  const newClient = (): PgClient => new Client(options);
  const address = addressOf(newClient, context.name);
  return { pool: new Pool(options), newClient, address };
}

/** The address, which tells the server where the tables are if it says so as Prisma's do: pg itself ignores that. */
function withSearchPath({ url, options }: DatabaseConfig): string | undefined {
  const schema = schemaIn(url);
  if (schema === undefined) return url;
  const name = `"${schema.replaceAll('"', '""')}"`.replaceAll(/[\\\s]/g, '\\$&');
  const given = optionIn(url, 'options') || options?.['options'];
  // Of two options with this name pg takes the last.
  return `${url}&options=${encodeURIComponent(`${typeof given === 'string' ? `${given} ` : ''}-c search_path=${name}`)}`;
}

function sourceOfPool(pool: PgPool, { name }: OpenContext): Source {
  const Client: PgClientClass = pool.Client ?? loadPg(name).Client;
  const newClient = (): PgClient => new Client(pool.options ?? {});
  return { pool, newClient, address: addressOf(newClient, name) };
}

/** Only pg parses addresses. */
function addressOf(newClient: () => PgClient, connection: string): string {
  let client: PgClient;
  try {
    client = newClient();
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    // The message of other errors may quote part of the address.
    const problem = path === undefined ? UNREADABLE : `${path}, which its options name, cannot be read (${code}).`;
    throw badDatabaseUrl(connection, 'postgres', problem);
  }
  const { host, port, user, database } = client;
  const place = host.startsWith('/') ? `${host}:${port}` : `//${user ?? ''}@${bracketed(host)}:${port}`;
  return `postgres:${place}/${database ?? ''}`;
}

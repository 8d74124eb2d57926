/** The `database` driver: chooses the database by a connection's `url` or `pool`. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { systemClock, type Seconds } from '../../base/clock';
import type { ConnectorContext } from '../driver';
import type { DatabaseConfig, DatabasePool } from './driver';
import { badDatabaseUrl } from './errors';
import type { SqlConnection } from './connection';
import { connectSqlite } from './sqlite/connection';
import { silentLogger } from '../../base/logger';
import { threadModule } from '../../base/environment';
import type { StoreThread, ThreadAccess } from '../contract';

/** What a connection is made with besides its configuration. */
export interface DatabaseContext
  extends
    Pick<ConnectorContext, 'name' | 'clock' | 'logger' | 'deadline'>,
    Partial<Pick<ConnectorContext, 'root' | 'origin'>> {
  /** Seconds to add to a server's clock: 0 outside tests. */
  readonly offset?: (() => Seconds) | undefined;
  /** The maximum number of connections to a server, whatever its options say. */
  readonly mostConnections?: number | undefined;
}

export interface OpenContext extends Omit<DatabaseContext, 'root'> {
  readonly table: string;
  readonly threadAccess?: ThreadAccess | undefined;
}

const DEFAULT_URL = 'sqlite:./onqueue.sqlite';
const DEFAULT_TABLE = 'jobs';

type Server = (config: DatabaseConfig, context: OpenContext) => SqlConnection;

/* oxlint-disable typescript/no-require-imports, typescript/consistent-type-imports -- each is loaded by who uses it */
const postgres: Server = (config, context) =>
  (require('./postgres/connection') as typeof import('./postgres/connection')).connectPostgres(config, context);
const mysql: Server = (config, context) =>
  (require('./mysql/connection') as typeof import('./mysql/connection')).connectMysql(config, context);
/* oxlint-enable typescript/no-require-imports, typescript/consistent-type-imports */

const SERVERS: ReadonlyMap<string, Server> = new Map([
  ['postgres', postgres],
  ['postgresql', postgres],
  ['mysql', mysql],
  ['mariadb', mysql],
]);

/**
 * Opens nothing yet: a file and its tables are created, and a server is contacted, on first use.
 * @throws E_DATABASE_URL
 * @throws E_DATABASE_TABLE_NAME
 * @throws E_MISSING_PEER
 */
export function connectDatabase(config: DatabaseConfig, context: DatabaseContext): SqlConnection {
  const { root = process.cwd(), ...rest } = context;
  const { url = DEFAULT_URL, table = DEFAULT_TABLE } = config;
  const own = { ...rest, table };
  const server = config.pool === undefined ? SERVERS.get(schemeOf(url)) : serverOf(config.pool);
  if (server !== undefined) return server(config, { ...own, threadAccess: threadAccessOf(config, own) });
  const file = canonical(resolve(root, pathOf(url, context.name)));
  const threadAccess = threadAccessOf({ driver: 'database', url: `sqlite:${file}` }, own);
  return connectSqlite(file, { ...own, threadAccess });
}

/** A mysql2 pool hands out connections with another method than a pg pool. */
const serverOf = (pool: DatabasePool): Server => ('getConnection' in pool ? mysql : postgres);

function schemeOf(url: string): string {
  return /^([a-z][a-z\d+.-]*):/i.exec(url)?.[1]?.toLowerCase() ?? '';
}

function pathOf(url: string, connection: string): string {
  const scheme = schemeOf(url);
  if (scheme !== 'sqlite') {
    const known = ['sqlite', ...SERVERS.keys()].join(', ');
    const problem =
      scheme === '' ? 'it has no scheme.' : `'${scheme}:' is not one of the supported databases: ${known}.`;
    throw badDatabaseUrl(connection, scheme, problem);
  }
  // `sqlite:///path` is how most programs write an absolute path. `sqlite://path` would name a host, and SQLite has none.
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  if (path === '' || path.startsWith('//')) throw badDatabaseUrl(connection, scheme, 'it names no file.');
  if (/^file:|\?\w+=/.test(path)) {
    throw badDatabaseUrl(connection, scheme, "file: and options are not read, and would be part of the file's name.");
  }
  if (path === ':memory:') {
    throw badDatabaseUrl(connection, scheme, "a database in memory is what driver: 'memory' is for.");
  }
  return path;
}

/** SQLite keeps its log beside the file that a symbolic link leads to, so each file must have exactly one name. */
function canonical(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return fileInCanonicalFolder(file);
  }
}

function fileInCanonicalFolder(file: string): string {
  try {
    return join(realpathSync(dirname(file)), basename(file));
  } catch {
    return file;
  }
}

interface ThreadData
  extends Pick<DatabaseConfig, 'url' | 'options'>, Pick<OpenContext, 'name' | 'table' | 'deadline' | 'origin'> {}

/** Undefined if it cannot be copied to another thread. */
function threadAccessOf(
  { url, options, pool }: DatabaseConfig,
  { name, table, deadline, origin, offset }: OpenContext,
): ThreadAccess | undefined {
  if (pool !== undefined || offset !== undefined) return undefined;
  try {
    const data: ThreadData = { name, table, deadline, origin, url, options: structuredClone(options) };
    return { module: threadModule('connections/sql/opening'), data };
  } catch {
    return undefined;
  }
}

/** All workers of a process share them, only to renew leases: a server has few connections. */
const MOST_CONNECTIONS = 2;

/** The module with which another thread opens the same tables; see `ThreadAccess`. It reports problems only as errors. */
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

/** The `database` driver on MySQL and MariaDB. */
import type { DatabaseConfig } from '../driver';
import type { OpenContext } from '../database-connection';
import { isTls, parsed } from '../address';
import { badDatabaseUrl, badTls, UNREADABLE } from '../errors';
import { connectTimeout, MOST_CONNECTIONS, serverConnection } from '../server/server-connection';
import type { SqlConnection } from '../sql-connection';
import { tableNames } from '../table-names';
import { loadMysql, type MysqlOptions, type MysqlUsersPool } from './mysql';
import { mysqlDialect } from './mysql-dialect';
import { mysqlErrors } from './mysql-errors';
import { mysqlNames } from './mysql-names';
import { MysqlPool } from './mysql-pool';
import { mysqlSchema } from './mysql-schema';
import { polling } from './polling';

/** Connects on the first call. @throws E_MISSING_PEER, E_DATABASE_URL, E_DATABASE_TLS, E_DATABASE_TABLE_NAME */
export function connectMysql(config: DatabaseConfig, context: OpenContext): SqlConnection {
  const { name, clock, deadline, offset = () => 0, mostConnections = Infinity } = context;
  const mysql = loadMysql(name);
  const options = { ...optionsOf(config, context), ...OURS };
  const address = addressOf(options);
  const tables = tableNames(context.table, name);
  const most = Math.min(Number(config.options?.['connectionLimit'] ?? MOST_CONNECTIONS), mostConnections);
  return serverConnection({
    config,
    context,
    address,
    product: 'MySQL',
    errors: mysqlErrors,
    dialect: mysqlDialect(mysqlNames(tables), offset),
    schema: mysqlSchema(tables, offset),
    pool: new MysqlPool({ connect: () => mysql.createConnection(options), most, deadline }),
    waking: polling(clock),
  });
}

/** Options that our statements and the parsing of answers rely on. */
const OURS: MysqlOptions = {
  multipleStatements: true,
  charset: 'utf8mb4',
  typeCast: true,
  namedPlaceholders: false,
  // Ids beyond 2^53 come as texts.
  supportBigNumbers: true,
  bigNumberStrings: false,
  stringifyObjects: false,
};

/** The options that are taken over from a pool of the user's. */
const TAKEN_OVER = [
  'host',
  'port',
  'localAddress',
  'socketPath',
  'user',
  'password',
  'password2',
  'password3',
  'passwordSha1',
  'database',
  'ssl',
  'stream',
  'authPlugins',
  'authSwitchHandler',
  'enableCleartextPlugin',
  'compress',
  'enableKeepAlive',
] as const;

function optionsOf({ url, pool, options = {} }: DatabaseConfig, context: OpenContext): MysqlOptions {
  // An option of mysql2's pools, and ours is not one of them.
  const { connectionLimit: _, ...own } = options;
  const given = pool === undefined ? optionsOfUrl(url ?? '', context.name) : optionsOfPool(pool as MysqlUsersPool);
  const all: MysqlOptions = { connectTimeout: connectTimeout(context), ...given, ...own };
  if (!isTls(all['ssl'])) throw badTls(context.name, typeof all['ssl']);
  return all;
}

function optionsOfPool({ config, pool }: MysqlUsersPool): MysqlOptions {
  const given = config?.connectionConfig ?? pool?.config?.connectionConfig ?? {};
  const known = TAKEN_OVER.filter((key) => given[key] !== undefined && given[key] !== false);
  return Object.fromEntries(known.map((key) => [key, given[key]]));
}

/** Options after the `?` are mysql2's: `?socketPath=/run/mysqld/mysqld.sock`, `?ssl={"rejectUnauthorized":true}`. */
function optionsOfUrl(text: string, connection: string): MysqlOptions {
  try {
    const { hostname, port, username, password, pathname, searchParams } = new URL(text);
    const options = [...searchParams].map(([key, value]) => [key, parsed(value)] as const);
    return {
      host: decodeURIComponent(hostname) || 'localhost',
      port: port === '' ? 3306 : Number(port),
      user: decodeURIComponent(username),
      password: decodeURIComponent(password),
      database: decodeURIComponent(pathname.slice(1)),
      ...Object.fromEntries(options),
    };
  } catch {
    // The error's message may quote part of the address.
    throw badDatabaseUrl(connection, 'mysql', UNREADABLE);
  }
}

function addressOf(options: MysqlOptions): string {
  const { host, port = 3306, socketPath, user = '', database = '' } = options as Readonly<Record<string, string>>;
  const place = socketPath === undefined ? `${host}:${port}` : `localhost${socketPath}`;
  return `mysql://${user === '' ? '' : `${user}@`}${place}/${database}`;
}

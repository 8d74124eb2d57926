/** The `database` driver on MySQL and MariaDB: the part of the package mysql2 that it uses, and the dialect. */
import type { DatabaseConfig } from '../driver';
import type { OpenContext } from '../opening';
import { isTls, parsed, tableNames } from '../address';
import { badDatabaseUrl, badTls, UNREADABLE } from '../errors';
import { connectTimeout, MOST_CONNECTIONS, serverConnection } from '../server/caller';
import type { SqlConnection } from '../connection';
import { mysqlErrors } from './errors';
import { mysqlSchema } from './schema';
import { mysqlNames, availableAt, dueOf, failedColumns, findTail, mysqlLine, keyOf, type MysqlNames } from './rows';
import { MysqlPool, packet, transactionSession } from './pool';
import type { Socket } from 'node:net';
import { bracketed, peerError, unbracketed } from '../../kit/requirements';
import { polling } from '../waiters';
import { TIED_END, TIES_OPENING } from '../../../payload/ties';
import { tiedIn, type Addition, type Dialect, type Wording } from '../dialect';
import {
  insertInto,
  numeral,
  raw,
  rowsOf,
  sql,
  transaction,
  valueOf,
  written,
  type Sql,
  type Work,
} from '../statement';
import { SOURCES } from '../records';
import { MysqlJobs } from './jobs';
import { mysqlLanes } from './lanes';

/** Connects on the first call. @throws E_MISSING_PEER, E_DATABASE_URL, E_DATABASE_TLS, E_DATABASE_TABLE_NAME */
export function connectMysql(config: DatabaseConfig, context: OpenContext): SqlConnection {
  const { name, clock, deadline, offset, mostConnections = Infinity } = context;
  const mysql = loadMysql(name);
  const options = { ...optionsOf(config, context), ...OURS };
  const address = addressOf(options);
  const names = mysqlNames(tableNames(context.table, name), offset);
  const most = Math.min(Number(config.options?.['connectionLimit'] ?? MOST_CONNECTIONS), mostConnections);
  return serverConnection({
    context,
    address,
    product: 'MySQL',
    dialect: mysqlDialect(names),
    schema: mysqlSchema(names),
    pool: new MysqlPool({ connect: () => mysql.createConnection(options), most, deadline }),
    waiters: polling(clock),
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
      host: unbracketed(decodeURIComponent(hostname)) || 'localhost',
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
  const { host = '', port = 3306, socketPath, user = '', database = '' } = options as Readonly<Record<string, string>>;
  const place = socketPath === undefined ? `${bracketed(host)}:${port}` : `localhost${socketPath}`;
  return `mysql://${user === '' ? '' : `${user}@`}${place}/${database}`;
}

type Callback<T = unknown> = (error: Error | null, result: T) => void;

export interface MysqlConnection {
  readonly stream: Socket;
  connect(callback: (error: Error | null) => void): void;
  query(options: { readonly sql: string; readonly rowsAsArray?: boolean }, callback: Callback): void;
  /** Says goodbye to the server, and closes the connection. */
  end(callback: () => void): void;
  on(event: 'error' | 'end', listener: () => void): unknown;
}

type MysqlOptions = Readonly<Record<string, unknown>>;

/** A pool of the user's, from `mysql2` or `mysql2/promise`, as far as it exposes the options of its connections. */
interface MysqlUsersPool {
  readonly config?: { readonly connectionConfig?: MysqlOptions };
  readonly pool?: MysqlUsersPool;
}

interface MysqlPackage {
  createConnection(options: MysqlOptions): MysqlConnection;
}

/**
 * @param connection its name in the configuration
 * @throws E_MISSING_PEER
 */
function loadMysql(connection: string): MysqlPackage {
  try {
    // oxlint-disable-next-line typescript/no-require-imports -- an optional peer, loaded by who uses it
    return require('mysql2') as MysqlPackage;
  } catch (error) {
    throw peerError({ connection, driver: 'database on MySQL', peer: 'mysql2' }, error);
  }
}

const END = `RIGHT(payload, ${TIED_END})`;
const tiedEnd = raw(`CASE WHEN LOCATE('${TIES_OPENING}', ${END}) > 0 THEN ${END} END`);

export function mysqlDialect(names: MysqlNames): Dialect {
  const { now } = names;
  const wording: Wording = {
    tables: names,
    now,
    after: (seconds) => sql`${now()} + ${seconds}`,
    read: raw,
    text: String,
    key: keyOf,
    replace: (table, _key, rows) => insertInto(table, rows, 'REPLACE'),
    // Not with IN, for which older servers read the whole table.
    remove: (table, key, page) => {
      const isSelected = key.map((name) => `kept.${name} = page.${name}`).join(' AND ');
      return sql`DELETE kept FROM (${page}) AS page STRAIGHT_JOIN ${table} AS kept ON ${raw(isSelected)}`;
    },
    skipLocked: raw('FOR UPDATE SKIP LOCKED'),
    forUpdate: raw('FOR UPDATE'),
    insertNew: (table, row) => insertInto(table, row, 'INSERT IGNORE'),
    // Without it the server reads all records of the kind for each page.
    alongKind: raw('FORCE INDEX (kind)'),
    rows: (count) => sql`${count}`,
    addOnce: (addition) => addOnce(names.sums, addition, now()),
    tiedEnd,
    *removeJobs(page) {
      // In the order in which workers lock the rows that they end.
      const locked = yield* rowsOf(
        sql`SELECT job.id, ${tiedEnd} FROM (${page}) AS page STRAIGHT_JOIN ${names.jobs} AS job ON job.id = page.id
          ORDER BY job.id FOR UPDATE`,
      );
      const ids = locked.map(([id]) => numeral(String(id)));
      const removed = ids.length === 0 ? 0 : yield* written(sql`DELETE FROM ${names.jobs} WHERE id IN (${ids})`);
      return { removed, tied: tiedIn(locked.map(([, end = null]) => end)) };
    },
    runTogether: packet,
    transaction,
    line: mysqlLine(names),
    waiting: (at) => {
      const due = dueOf({ delay: 0, due: at });
      return { due_at: due!, available_at: availableAt(due) };
    },
    *lastInLine(queue, at) {
      const tail = Number(yield* valueOf(findTail(names, queue, raw(''))));
      return { due_at: null, available_at: Math.floor(at), place: tail + 1 };
    },
    failed: failedColumns(now),
    lanes: mysqlLanes(names),
    recordsCalls: true,
    ...mysqlErrors,
    sessionOf: transactionSession,
  };
  return { ...wording, jobs: new MysqlJobs(names, wording) };
}

/** In one packet. */
function addOnce(sums: Sql, { source, sequence, keep, amounts }: Addition, now: Sql): Work<unknown> {
  const isSource = sql`name = ${SOURCES} AND field = ${source}`;
  const list = sql`JSON_TABLE(${JSON.stringify(amounts)}, '$[*]' COLUMNS (
      n FOR ORDINALITY, name VARCHAR(100) CHARACTER SET utf8mb4 PATH '$.name', field VARCHAR(255) CHARACTER SET utf8mb4 PATH '$.field',
      amount BIGINT PATH '$.amount', keep DECIMAL(16, 6) PATH '$.keep'
    )) AS list`;
  return packet([
    insertInto(sums, { name: SOURCES, field: source, amount: 0, ends_at: sql`${now} + ${keep}` }, 'INSERT IGNORE'),
    sql`SELECT amount INTO @onqueue_before FROM ${sums} WHERE ${isSource} FOR UPDATE`,
    sql`INSERT INTO ${sums} (name, field, amount, ends_at)
      SELECT list.name, list.field, list.amount, ${now} + list.keep FROM ${list} WHERE @onqueue_before < ${sequence} ORDER BY n
      ON DUPLICATE KEY UPDATE amount = ${sums}.amount + VALUES(amount), ends_at = VALUES(ends_at)`,
    sql`UPDATE ${sums} SET amount = ${sequence}, ends_at = ${now} + ${keep} WHERE ${isSource} AND amount < ${sequence}`,
  ]);
}

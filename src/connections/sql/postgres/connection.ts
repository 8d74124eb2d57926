/** The `database` driver on PostgreSQL, and its dialect. */
import type { DatabaseConfig } from '../driver';
import type { OpenContext } from '../opening';
import { optionIn, schemaIn, tableNames, eachTable } from '../address';
import { badDatabaseUrl, UNREADABLE } from '../errors';
import { bracketed } from '../../kit/requirements';
import { connectTimeout, MOST_CONNECTIONS, serverConnection } from '../server/caller';
import type { SqlConnection } from '../connection';
import { identifiers, literal, quoted, DUE, storable, textAndBytes, type Identifiers } from './names';
import { loadPg, sqlPool, type PgClient, type PgClientClass, type PgPool, transactionSession } from './client';
import { postgresErrors } from './errors';
import { postgresHints, postgresRecordWakes } from './channel';
import { postgresSchema } from './schema';
import { TIED_END, TIES_OPENING } from '../../../payload/ties';
import { indexedLine, tiedIn, type Dialect, type FailedColumns } from '../dialect';
import { AFTER_ALL, BEFORE_ALL } from '../jobs';
import { insertInto, numeral, raw, rowsOf, run, runAll, sql, transaction, type Row, type Sql } from '../statement';
import { addAmounts, noteSequence } from '../records';
import { PostgresJobs } from './jobs';
import { postgresLanes } from './lanes';

/** Connects on the first call. @throws E_MISSING_PEER, E_DATABASE_URL, E_DATABASE_TABLE_NAME */
export function connectPostgres(config: DatabaseConfig, context: OpenContext): SqlConnection {
  const { name, clock, deadline, offset } = context;
  const { pool, newClient, address } = sourceOf(config, context);
  const names = identifiers(tableNames(context.table, name), offset);
  const { channel, recordChannel } = names;
  const listening = { clock, deadline, connect: newClient };
  return serverConnection({
    context,
    address,
    product: 'PostgreSQL',
    dialect: postgresDialect(names),
    schema: postgresSchema(names),
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

/** So many characters are at least as many bytes. */
const END = `right(payload, ${TIED_END})`;
const tiedEnd = raw(`CASE WHEN position(${literal(TIES_OPENING)} IN ${END}) > 0 THEN ${END} END`);

/** A process that freezes halfway keeps its rows locked no longer than this. */
const BEGIN = raw(`BEGIN; SET LOCAL idle_in_transaction_session_timeout = '10s'`);

/** Most of a call of 100 jobs is its commit. A call that only adds rows holds up nobody. */
const PUSHED_PAGE = 1_000;

/** Pages of a bulk are encoded while a call is under way, and travel together in the next one. */
const PUSHES_AT_ONCE = 20;

export function postgresDialect(names: Identifiers): Dialect {
  const { now } = names;
  const tables = eachTable(names.given, (name) => raw(quoted(name)));
  return {
    tables,
    now,
    after: (seconds) => sql`${now()} + ${seconds}`,
    read: raw,
    text: storable,
    key: storable,
    replace: (table, key, rows, renewed) => {
      const [row] = [rows].flat() as readonly Row[];
      const changed = [...Object.keys(row!), ...(renewed === undefined ? [] : [renewed])];
      const columns = changed.filter((name) => !key.includes(name)).map((name) => raw(`${name} = excluded.${name}`));
      return sql`${insertInto(table, rows)} ON CONFLICT (${key.map((name) => raw(name))}) DO UPDATE SET ${columns}`;
    },
    remove: (table, key, page) => {
      const [first, ...others] = key.map((name) => raw(name));
      // To join a page of some hundred rows the server would read all of 20,000.
      const isSelected =
        others.length === 0 ? sql`${first!} = ANY (ARRAY(${page}))` : sql`(${first!}, ${others}) IN (${page})`;
      return sql`DELETE FROM ${table} WHERE ${isSelected}`;
    },
    skipLocked: raw('FOR UPDATE SKIP LOCKED'),
    forUpdate: raw('FOR UPDATE'),
    insertNew: (table, row) => sql`${insertInto(table, row)} ON CONFLICT DO NOTHING`,
    addOnce: ({ amounts, ...source }) => {
      const { sums } = tables;
      return run(
        sql`WITH source AS (${noteSequence(sums, source, sql`${now()} + ${source.keep}`)} RETURNING 1)
          ${addAmounts(
            sums,
            sql`SELECT name, field, amount, ${now()} + keep FROM source, ROWS FROM (
              json_to_recordset(${JSON.stringify(amounts)}::text::json) AS (name text, field text, amount bigint, keep double precision)
            ) WITH ORDINALITY AS given ORDER BY ordinality`,
          )}`,
      );
    },
    alongKind: raw(''),
    tiedEnd,
    *removeJobs(page) {
      // In the order in which workers lock the rows that they end.
      const locked = sql`SELECT id FROM ${tables.jobs} WHERE id IN (${page}) ORDER BY id FOR UPDATE`;
      const rows = yield* rowsOf(sql`DELETE FROM ${tables.jobs} WHERE id IN (${locked}) RETURNING ${tiedEnd}`);
      return { removed: rows.length, tied: tiedIn(rows.map(([end = null]) => end)) };
    },
    // The server assumes that an unknown number means a tenth of all rows; for a number above its estimate of the rows it
    // would read and sort all of them.
    rows: (count) => sql`(SELECT ${count}::bigint)`,
    runTogether: (statements) => transaction(() => runAll(statements), BEGIN),
    transaction: (work) => transaction(work, BEGIN),
    line: indexedLine(tables, DUE, {
      along: { ready: raw('place'), reserved: raw('lease_until') },
      // An upper bound makes the server expect few rows, and use the index.
      hasLease: raw(`lease_until <= 'NaN'`),
      payload: String,
    }),
    waiting: (due) => ({ due_at: due, available_at: sql`least(ceil(${due}::double precision), 2147483647)::integer` }),
    // oxlint-disable-next-line require-yield -- the sequence knows the place
    *lastInLine(_queue, at) {
      return { due_at: null, available_at: Math.floor(at), place: raw(`nextval(${literal(names.places)})`) };
    },
    failed: failedColumns(now),
    jobs: new PostgresJobs(names),
    lanes: postgresLanes(names),
    pushedPage: PUSHED_PAGE,
    pushesAtOnce: PUSHES_AT_ONCE,
    recordsCalls: true,
    ...postgresErrors,
    sessionOf: transactionSession,
  };
}

function failedColumns(now: () => Sql): FailedColumns {
  return {
    alongQueue: raw(''),
    all: sql`id > ${BEFORE_ALL} AND id < ${numeral(AFTER_ALL)}`,
    payload: raw(`encode(coalesce(raw, convert_to(payload, 'UTF8')), 'base64')`),
    payloadOf: (value) => Buffer.from(String(value), 'base64'),
    storedPayload: (payload) => {
      const { text, bytes } = textAndBytes(payload);
      return { payload: text, raw: sql`decode(${bytes}, 'base64')` };
    },
    hasPayload: (payload) => {
      const { text, bytes } = textAndBytes(payload);
      return sql`payload = ${text} AND raw IS NOT DISTINCT FROM decode(${bytes}, 'base64')`;
    },
    contains: (column, text) => sql`strpos(${raw(column)}, ${text}) > 0`,
    // What Laravel has written is read as UTC.
    failedAt: raw('coalesce(failed_ms, round(extract(epoch FROM failed_at) * 1000)::bigint)'),
    failedNow: () => ({
      failed_at: sql`to_timestamp(${now()}) AT TIME ZONE 'UTC'`,
      failed_ms: sql`round(${now()} * 1000)`,
    }),
  };
}

/**
 * The `database` driver on an embedded SQLite file, which several processes may share.
 *
 * Pushed jobs are on disk when the promise resolves. The end of a job may be lost in a power failure; then the job runs
 * again.
 */
import type { Seconds } from '../../../base/clock';
import type { OpenContext } from '../opening';
import { areTablesOutOfReach } from '../errors';
import { toMicroseconds } from '../exchange';
import { Database, type Engine, type Tables } from '../database';
import { raw, valueOf, rowsOf, type SqlValue, type Work } from '../statement';
import { SqlConnection } from '../connection';
import { tableNames, threadAccessOf, type TableNames } from '../address';
import { watchOf, SqliteWaking } from './waking';
import { sqliteDialect } from './dialect';
import { SqliteEngine } from './engine';
import { prepareTables, TABLES_VERSION, tablesSql } from './schema';
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Diagnosis } from '../../contract';

/**
 * @param file its canonical path
 * @throws E_DATABASE_TABLE_NAME
 */
export function connectSqlite(file: string, context: OpenContext): SqlConnection {
  const { name, clock, logger, deadline, origin, table } = context;
  const names = tableNames(table, name);
  const now = (): Seconds => toMicroseconds(clock.now() / 1000);
  const engine = new SqliteEngine({
    connection: name,
    file,
    deadline,
    origin,
    logger,
    prepare: (database) => prepareTables(database, names, file),
  });
  // Differs between builds of SQLite.
  const build = (): SqlValue | undefined => engine.glance(() => valueOf(raw('SELECT sqlite_source_id()')));
  const dialect = sqliteDialect(names, now, { connection: name, file, engine: build });
  const waiters = new SqliteWaking({
    clock,
    watch: watchOf(file),
    nextIn: (queues) => engine.glance(() => dialect.jobs.nextIn(queues)) ?? Infinity,
    version: () => engine.glance(() => valueOf(raw('PRAGMA data_version'))),
  });
  const tables = tablesOf(engine, names, file);
  return new SqlConnection(new Database({ name, address: file, dialect, engine, tables, waiters }), {
    clock,
    threadAccess: threadAccessOf({ driver: 'database', url: `sqlite:${file}` }, context),
    now: async () => clock.now(),
  });
}

/** Opening the file creates the tables, and brings them up to date. */
function tablesOf(engine: SqliteEngine, names: TableNames, file: string): Tables {
  const open = (consequence: string): Promise<void> => engine.run({ consequence }, nothing);
  return {
    check: async () => undefined,
    diagnose: () => diagnose(file, engine),
    migrations: {
      version: TABLES_VERSION,
      sql: () => tablesSql(names),
      check: async () => {
        await open('nothing was done').catch((error: unknown) => {
          if (areTablesOutOfReach(error)) throw error;
        });
      },
      run: async () => {
        await open('its tables were not brought up to date');
        const from = engine.foundVersion;
        return { from, to: Math.max(from, TABLES_VERSION) };
      },
    },
  };
}

// oxlint-disable-next-line require-yield -- work that asks for nothing
function* nothing(): Work<void> {}

const SUBJECT = 'database';

/**
 * The numbers by which `statfs` names file systems that are shared between machines, whose processes have no common memory.
 */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
]);

/** What `onqueue check` reports about a SQLite file. */
export async function diagnose(file: string, engine: Engine): Promise<readonly Diagnosis[]> {
  const facts = raw('SELECT sqlite_version(), journal_mode FROM pragma_journal_mode');
  const rows = await engine.run({ consequence: 'it was not examined' }, () => rowsOf(facts));
  const [version, journal] = (rows[0] ?? []).map(String);
  const message = `SQLite ${version} (libsql), ${file}, journal mode ${journal}`;
  return [{ level: 'ok', subject: SUBJECT, message }, ...logWarnings(file, journal), ...networkWarnings(file)];
}

function logWarnings(file: string, journal: string | undefined): readonly Diagnosis[] {
  if (journal === 'wal') return [];
  const message = `${file} has no write-ahead log here (journal mode ${journal}): workers wait for each other, and wake once a second.`;
  return [{ level: 'warning', subject: SUBJECT, message }];
}

function networkWarnings(file: string): readonly Diagnosis[] {
  const network = NETWORK_FILE_SYSTEMS.get(statfsSync(dirname(file)).type);
  if (network === undefined) return [];
  const message = `${file} is on ${network}: processes of several machines would damage it. Use a local disk, or Redis.`;
  return [{ level: 'warning', subject: SUBJECT, message, endangersJobs: true }];
}

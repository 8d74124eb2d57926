/**
 * The `database` driver on an embedded SQLite file, which several processes may share, and its dialect.
 *
 * Pushed jobs are on disk when the promise resolves. The end of a job may be lost in a power failure; then the job runs
 * again.
 */
import type { Seconds } from '../../../base/clock';
import type { OpenContext } from '../opening';
import { areTablesOutOfReach } from '../errors';
import { toMicroseconds } from '../exchange';
import { Database, type Engine, type Tables } from '../database';
import { raw, valueOf, rowsOf, type SqlValue, type Work, insertInto, run, runAll, sql, written } from '../statement';
import { SqlConnection } from '../connection';
import { tableNames, type TableNames, eachTable } from '../address';
import { sqliteWaking } from './waking';
import { SqliteEngine, userTransaction, type OwnDatabase } from './engine';
import { prepareTables, TABLES_VERSION, tablesSql, failedColumns, read, sqliteLine, tailOf } from './schema';
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Diagnosis } from '../../contract';
import { TIED_END, TIES_OPENING } from '../../../payload/ties';
import { findUnfinished } from '../batches';
import { tiedIn, type Dialect, type Wording } from '../dialect';
import { addAmounts, noteSequence } from '../records';
import { isUnfit } from './errors';
import { SqliteJobs } from './jobs';
import { SqliteLanes } from './lanes';

/**
 * @param file its canonical path
 * @throws E_DATABASE_TABLE_NAME
 */
export function connectSqlite(file: string, context: OpenContext): SqlConnection {
  const { name, clock, logger, deadline, origin, table, threadAccess } = context;
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
  const waiters = sqliteWaking({
    clock,
    file,
    nextIn: (queues) => engine.glance(() => dialect.jobs.nextIn(queues)) ?? Infinity,
    version: () => engine.glance(() => valueOf(raw('PRAGMA data_version'))),
  });
  const tables = tablesOf(engine, names, file);
  return new SqlConnection(new Database(name, file, dialect, engine, tables, waiters), {
    clock,
    threadAccess,
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
  return [{ level: 'ok', subject: SUBJECT, message }, ...logWarnings(file, journal), ...diskWarnings(file)];
}

function logWarnings(file: string, journal: string | undefined): readonly Diagnosis[] {
  if (journal === 'wal') return [];
  const message = `${file} has no write-ahead log here (journal mode ${journal}): workers wait for each other, and wake once a second.`;
  return [{ level: 'warning', subject: SUBJECT, message }];
}

/** Less is little only beside a small part of the disk that is free: a small disk may be empty, and a large one fills slowly. */
const MUCH_FREE = 10 * 1024 ** 3;
const LEAST_FREE = 0.05;

function diskWarnings(file: string): readonly Diagnosis[] {
  const { type, bavail, bsize, blocks } = statfsSync(dirname(file));
  const free = bavail * bsize;
  const warn = (message: string): Diagnosis => ({ level: 'warning', subject: SUBJECT, message, endangersJobs: true });
  const network = NETWORK_FILE_SYSTEMS.get(type);
  const remarks: Diagnosis[] = [];
  if (network !== undefined)
    remarks.push(
      warn(`${file} is on ${network}: processes of several machines would damage it. Use a local disk, or Redis.`),
    );
  if (free < MUCH_FREE && bavail < blocks * LEAST_FREE)
    remarks.push(
      warn(`the disk of ${file} has only ${Math.floor(free / 1024 ** 2)} MiB left: if it is full, dispatches fail.`),
    );
  return remarks;
}

export interface SqliteDialect extends Dialect {
  readonly jobs: SqliteJobs;
}

const END = `substr(CAST(payload AS BLOB), -${TIED_END})`;
const tiedEnd = raw(`CASE WHEN instr(${END}, CAST('${TIES_OPENING}' AS BLOB)) > 0 THEN ${END} END`);

/** Each transaction waits for the disk. With this many jobs it blocks neither the file nor the event loop for long. */
const PUSHED_PAGE = 250;

/**
 * @param now the time: seconds since 1970, to the microsecond. All processes that share a file share their machine's clock
 */
export function sqliteDialect(names: TableNames, now: () => Seconds, own: OwnDatabase): SqliteDialect {
  const tables = eachTable(names, raw);
  const after: Wording['after'] = (seconds) => sql`${toMicroseconds(now() + seconds)}`;
  const lanes = new SqliteLanes(tables, now);
  const wording: Wording = {
    tables,
    now: () => sql`${now()}`,
    after,
    read,
    text: String,
    key: String,
    replace: (table, _key, rows) => insertInto(table, rows, 'INSERT OR REPLACE'),
    remove: (table, key, page) => sql`DELETE FROM ${table} WHERE (${key.map((name) => raw(name))}) IN (${page})`,
    skipLocked: raw(''),
    forUpdate: raw(''),
    alongKind: raw(''),
    rows: (count) => sql`${count}`,
    insertNew: (table, row) => sql`${insertInto(table, row)} ON CONFLICT DO NOTHING`,
    *addOnce(addition) {
      if ((yield* written(noteSequence(tables.sums, addition, after(addition.keep)))) === 0) return;
      yield* run(
        addAmounts(
          tables.sums,
          sql`SELECT value ->> 'name', value ->> 'field', value ->> 'amount', ${now()} + (value ->> 'keep')
            FROM json_each(${JSON.stringify(addition.amounts)}) WHERE TRUE`,
        ),
      );
    },
    tiedEnd,
    *removeJobs(page) {
      const isCounted = (yield* rowsOf(findUnfinished(tables.batches))).length > 0;
      const removal = sql`DELETE FROM ${tables.jobs} WHERE id IN (${page})`;
      if (!isCounted) return { removed: yield* written(removal), tied: [] };
      const rows = yield* rowsOf(sql`${removal} RETURNING ${tiedEnd}`);
      return { removed: rows.length, tied: tiedIn(rows.map(([end = null]) => end)) };
    },
    // Each call already runs in a transaction.
    runTogether: runAll,
    transaction: (work) => work(),
    line: sqliteLine(tables),
    waiting: (due) => ({ available_at: toMicroseconds(due) }),
    // oxlint-disable-next-line require-yield -- the statement that moves the job finds the place
    *lastInLine(queue, at) {
      return { available_at: at, place: { text: `${tailOf(tables.jobs.text, '?')} + 1`, values: [queue] } };
    },
    failed: failedColumns(now),
    lanes,
    pushedPage: PUSHED_PAGE,
    recordsCalls: false,
    trouble: (error) => (isUnfit(error) ? 'unfit' : 'refused'),
    sessionOf: (transaction) => userTransaction(transaction, own.connection),
  };
  return { ...wording, jobs: new SqliteJobs(wording, lanes, now, own) };
}

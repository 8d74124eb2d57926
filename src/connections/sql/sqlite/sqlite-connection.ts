/**
 * The `database` driver on an embedded SQLite file, which several processes may share.
 *
 * Pushed jobs are on disk when the promise resolves. The end of a job may be lost in a power failure; then the job runs
 * again.
 */
import type { Seconds } from '../../../base/clock';
import type { OpenContext } from '../database-connection';
import { areTablesOutOfReach } from '../errors';
import { toMicroseconds } from '../outlook';
import { raw, type SqlValue, valueOf, type Work } from '../statement';
import { SqlConnection, type SqlTables } from '../sql-connection';
import { tableNames, type TableNames } from '../table-names';
import { threadAccessOf } from '../thread-access';
import { diagnose } from './diagnosis';
import { watchOf } from './file-watch';
import { sqliteDialect } from './sqlite-dialect';
import { SqliteEngine } from './sqlite-engine';
import { prepareTables, TABLES_VERSION, tablesSql } from './sqlite-schema';
import { SqliteWaking } from './sqlite-waking';

/** Each transaction waits for the disk. With this many jobs it blocks neither the file nor the event loop for long. */
const PUSHED_PAGE = 250;

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
  const waking = new SqliteWaking({
    clock,
    watch: watchOf(file),
    nextIn: (queues) => engine.glance(() => dialect.jobs.nextIn(queues)) ?? Infinity,
    version: () => engine.glance(() => valueOf(raw('PRAGMA data_version'))),
  });
  let heard = 0;
  return new SqlConnection({
    name,
    address: file,
    dialect,
    engine,
    clock,
    waking,
    tables: tablesOf(engine, names),
    threadAccess: threadAccessOf({ driver: 'database', url: `sqlite:${file}` }, context),
    now: async () => clock.now(),
    pushedPage: PUSHED_PAGE,
    diagnose: () => diagnose(file, engine),
    // Confirmed jobs may be gone with the file that had this name before.
    hasForgotten: () => heard !== (heard = engine.replacements),
  });
}

/** Opening the file creates the tables, and brings them up to date. */
function tablesOf(engine: SqliteEngine, names: TableNames): SqlTables {
  const open = (consequence: string): Promise<void> => engine.run({ consequence }, nothing);
  return {
    check: async () => undefined,
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
        return { from: engine.foundVersion, to: TABLES_VERSION };
      },
    },
  };
}

// oxlint-disable-next-line require-yield -- work that asks for nothing
function* nothing(): Work<void> {}

/** How SQLite writes what all databases do. */
import type { Seconds } from '../../../base/clock';
import type { Dialect } from '../dialect';
import { toMicroseconds } from '../outlook';
import { insertInto, raw, runAll, sql } from '../statement';
import { eachTable, type TableNames } from '../table-names';
import { isUnfit } from './sqlite-errors';
import { failedColumns, read, SqliteJobs, sqliteLine } from './sqlite-jobs';
import { isWithin, type OwnDatabase, userTransaction } from './user-transaction';

export interface SqliteDialect extends Dialect {
  readonly jobs: SqliteJobs;
}

/** @param now seconds since 1970, to the microsecond: all that share a file share the clock of its machine */
export function sqliteDialect(names: TableNames, now: () => Seconds, own: OwnDatabase): SqliteDialect {
  const tables = eachTable(names, raw);
  return {
    tables,
    now: () => sql`${now()}`,
    after: (seconds) => sql`${toMicroseconds(now() + seconds)}`,
    read,
    text: String,
    key: String,
    insertNew: (table, row) => sql`${insertInto(table, row)} ON CONFLICT DO NOTHING`,
    replace: (table, _key, row) => insertInto(table, row, 'INSERT OR REPLACE'),
    remove: (table, key, page) => sql`DELETE FROM ${table} WHERE ${raw(key)} IN (${page})`,
    skipLocked: raw(''),
    // A call runs in one as it is.
    runTogether: runAll,
    transaction: (work) => work,
    line: sqliteLine(tables),
    failed: failedColumns(now),
    jobs: new SqliteJobs({ tables, now, isWithin: () => isWithin(own) }),
    recordsCalls: false,
    trouble: (error) => (isUnfit(error) ? 'unfit' : 'refused'),
    sessionOf: (transaction) => userTransaction(transaction, own.connection),
  };
}

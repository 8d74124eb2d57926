/** How MySQL writes what all databases do. */
import type { Seconds } from '../../../base/clock';
import type { Dialect } from '../dialect';
import { insertInto, raw, type Sql, sql, transaction, written } from '../statement';
import { failedColumns, mysqlLine, now } from './columns';
import { mysqlErrors } from './mysql-errors';
import { MysqlJobs } from './mysql-jobs';
import { keyOf, type MysqlNames } from './mysql-names';
import { packet } from './mysql-session';
import { transactionSession } from './transaction-session';

/** @param offset seconds to add to the server's clock: 0 outside tests */
export function mysqlDialect(names: MysqlNames, offset: () => Seconds): Dialect {
  const current = (): Sql => now(offset());
  // Not by IN, for which an older server would read the whole table.
  const remove: Dialect['remove'] = (table, key, page) => {
    const column = raw(key);
    return sql`DELETE kept FROM (${page}) AS page STRAIGHT_JOIN ${table} AS kept ON kept.${column} = page.${column}`;
  };
  return {
    tables: names,
    now: current,
    after: (seconds) => sql`${current()} + ${seconds}`,
    read: raw,
    text: String,
    key: keyOf,
    insertNew: (table, row) => insertInto(table, row, 'INSERT IGNORE'),
    replace: (table, _key, row) => insertInto(table, row, 'REPLACE'),
    remove,
    tiedEnd: raw('NULL'),
    *removeJobs(page) {
      return { removed: yield* written(remove(names.jobs, 'id', page)), tied: [] };
    },
    skipLocked: raw('FOR UPDATE SKIP LOCKED'),
    forUpdate: raw('FOR UPDATE'),
    runTogether: packet,
    transaction,
    line: mysqlLine(names),
    failed: failedColumns(current),
    jobs: new MysqlJobs(names, offset),
    recordsCalls: true,
    trouble: (error) => mysqlErrors.trouble(error),
    sessionOf: transactionSession,
  };
}

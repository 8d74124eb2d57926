/** How MySQL writes what all databases do. */
import type { Seconds } from '../../../base/clock';
import type { Dialect, FailedColumns } from '../dialect';
import { insertInto, raw, type Sql, sql, transaction } from '../statement';
import { mysqlLine, now } from './columns';
import { mysqlErrors } from './mysql-errors';
import { MysqlJobs } from './mysql-jobs';
import { keyOf, type MysqlNames } from './mysql-names';
import { packet } from './mysql-session';
import { transactionSession } from './transaction-session';

/** @param offset seconds to add to the server's clock: 0 outside tests */
export function mysqlDialect(names: MysqlNames, offset: () => Seconds): Dialect {
  const current = (): Sql => now(offset());
  return {
    tables: names,
    now: current,
    after: (seconds) => sql`${current()} + ${seconds}`,
    read: raw,
    text: (value) => value,
    key: keyOf,
    insertNew: (table, row) => insertInto(table, row, 'INSERT IGNORE'),
    replace: (table, _key, row) => insertInto(table, row, 'REPLACE'),
    // Not by IN, for which an older server would read the whole table.
    remove: (table, key, page) => {
      const column = raw(key);
      return sql`DELETE kept FROM (${page}) AS page STRAIGHT_JOIN ${table} AS kept ON kept.${column} = page.${column}`;
    },
    skipLocked: raw('FOR UPDATE SKIP LOCKED'),
    runTogether: packet,
    transaction,
    line: mysqlLine(names),
    failed: failedColumns(current),
    jobs: new MysqlJobs(names, offset),
    recordsCalls: true,
    isUnfit: (error) => mysqlErrors.trouble(error) === 'unfit',
    isUnmigrated: (error) => mysqlErrors.trouble(error) === 'unmigrated',
    sessionOf: transactionSession,
  };
}

function failedColumns(current: () => Sql): FailedColumns {
  // Laravel has written whole seconds.
  const failedAt = raw('COALESCE(failed_ms, UNIX_TIMESTAMP(failed_at) * 1000)');
  return {
    payload: raw('payload'),
    payloadOf: (value) => value as Buffer,
    storedPayload: (payload) => ({ payload }),
    hasPayload: (payload) => sql`payload = ${payload}`,
    failedAt,
    failedNow: () => ({
      failed_at: sql`FROM_UNIXTIME(FLOOR(${current()}))`,
      failed_ms: sql`ROUND(${current()} * 1000)`,
    }),
    isOlder: (age) => sql`${failedAt} < (${current()} - ${age}) * 1000`,
  };
}

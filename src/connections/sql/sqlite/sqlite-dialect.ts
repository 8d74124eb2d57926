/** How SQLite writes what all databases do. */
import type { Seconds } from '../../../base/clock';
import { uuidv7 } from '../../../payload/uuid';
import type { Dialect, FailedColumns, NewFailure } from '../dialect';
import { failedJob, putFailed } from '../failed-jobs';
import { toMicroseconds } from '../outlook';
import { insertInto, raw, run, runAll, sql, type Work } from '../statement';
import { eachTable, type TableNames } from '../table-names';
import { isUnfit } from './sqlite-errors';
import { read, SqliteJobs, sqliteLine, storable } from './sqlite-jobs';
import { isWithin, type OwnDatabase, userTransaction } from './user-transaction';

export interface SqliteDialect extends Dialect {
  readonly jobs: SqliteJobs;
}

/** @param now seconds since 1970, to the microsecond: all that share a file share the clock of its machine */
export function sqliteDialect(names: TableNames, now: () => Seconds, own: OwnDatabase): SqliteDialect {
  const tables = eachTable(names, raw);
  const dialect: SqliteDialect = {
    tables,
    now: () => sql`${now()}`,
    after: (seconds) => sql`${toMicroseconds(now() + seconds)}`,
    read,
    text: (value) => value,
    key: (value) => value,
    insertNew: (table, row) => sql`${insertInto(table, row)} ON CONFLICT DO NOTHING`,
    replace: (table, _key, row) => insertInto(table, row, 'INSERT OR REPLACE'),
    remove: (table, key, page) => sql`DELETE FROM ${table} WHERE ${raw(key)} IN (${page})`,
    skipLocked: raw(''),
    // A call runs in one as it is.
    runTogether: runAll,
    transaction: (work) => work,
    line: sqliteLine(tables),
    failed: failedColumns(now),
    jobs: new SqliteJobs({
      tables,
      now,
      addFailed: (entry) => addFailed(dialect, entry),
      isWithin: () => isWithin(own),
    }),
    recordsCalls: false,
    isUnfit,
    isUnmigrated: () => false,
    sessionOf: (transaction) => userTransaction(transaction, own.connection),
  };
  return dialect;
}

/** Adds the job, beside one of the same id that is there. */
function* addFailed(dialect: Dialect, entry: NewFailure): Work<void> {
  const isKnown = (yield* failedJob(dialect, entry.id)) !== undefined;
  yield* run(putFailed(dialect, isKnown ? { ...entry, id: uuidv7() } : entry));
}

function failedColumns(now: () => Seconds): FailedColumns {
  const payload = raw('CAST(payload AS BLOB)');
  return {
    payload,
    payloadOf: (value) => value as Buffer,
    storedPayload: (bytes) => ({ payload: storable(bytes) }),
    hasPayload: (bytes) => sql`${payload} = ${bytes}`,
    failedAt: raw('round(failed_at * 1000)'),
    failedNow: () => ({ failed_at: Math.round(now() * 1000) / 1000 }),
    isOlder: (age) => sql`failed_at < ${now() - age}`,
  };
}

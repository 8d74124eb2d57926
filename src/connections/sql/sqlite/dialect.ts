/** The SQLite dialect. */
import type { Seconds } from '../../../base/clock';
import { TIED_END, TIES_OPENING } from '../../../payload/ties';
import { BatchRows, findUnfinished, type BatchDialect } from '../batches';
import { tiedIn, type Dialect } from '../dialect';
import { toMicroseconds } from '../exchange';
import { insertInto, raw, rowsOf, run, runAll, sql, written } from '../statement';
import { addAmounts, noteSequence } from '../records';
import { eachTable, type TableNames } from '../address';
import { isUnfit } from './errors';
import { SqliteJobs } from './jobs';
import { SqliteLanes } from './lanes';
import { failedColumns, nextPlace, read, sqliteLine } from './schema';
import { userTransaction, type OwnDatabase } from './engine';

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
  const common: BatchDialect = {
    tables,
    now: () => sql`${now()}`,
    after: (seconds) => sql`${toMicroseconds(now() + seconds)}`,
    read,
    text: String,
    key: String,
    replace: (table, _key, rows) => insertInto(table, rows, 'INSERT OR REPLACE'),
    remove: (table, key, page) => sql`DELETE FROM ${table} WHERE (${key.map((name) => raw(name))}) IN (${page})`,
    skipLocked: raw(''),
    forUpdate: raw(''),
  };
  const batches = new BatchRows(common);
  const lanes = new SqliteLanes(tables, now);
  return {
    ...common,
    alongKind: raw(''),
    rows: (count) => sql`${count}`,
    insertNew: (table, row) => sql`${insertInto(table, row)} ON CONFLICT DO NOTHING`,
    *addOnce(addition) {
      if ((yield* written(noteSequence(tables.sums, addition, common.after(addition.keep)))) === 0) return;
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
      const isCounted = (yield* rowsOf(findUnfinished(tables))).length > 0;
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
    lastInLine: (queue, at) => ({ available_at: at, place: nextPlace(tables, queue) }),
    failed: failedColumns(now),
    jobs: new SqliteJobs(tables, batches, lanes, now, own),
    batches,
    lanes,
    pushedPage: PUSHED_PAGE,
    recordsCalls: false,
    trouble: (error) => (isUnfit(error) ? 'unfit' : 'refused'),
    sessionOf: (transaction) => userTransaction(transaction, own.connection),
  };
}

/** The MySQL dialect. */
import type { Seconds } from '../../../base/clock';
import { TIED_END, TIES_OPENING } from '../../../payload/ties';
import { BatchRows, type BatchDialect } from '../batches';
import { tiedIn, type Addition, type Dialect } from '../dialect';
import { insertInto, numeral, raw, rowsOf, sql, transaction, written, type Sql, type Work } from '../statement';
import { SOURCES } from '../records';
import { availableAt, dueOf, failedColumns, findTail, mysqlLine, now, keyOf, type MysqlNames } from './rows';
import { mysqlErrors } from './errors';
import { MysqlJobs } from './jobs';
import { mysqlLanes } from './lanes';
import { packet, transactionSession } from './pool';

const END = `RIGHT(payload, ${TIED_END})`;
const tiedEnd = raw(`CASE WHEN LOCATE('${TIES_OPENING}', ${END}) > 0 THEN ${END} END`);

/** @param offset seconds to add to the server's clock: 0 outside tests */
export function mysqlDialect(names: MysqlNames, offset: () => Seconds): Dialect {
  const current = (): Sql => now(offset());
  const common: BatchDialect = {
    tables: names,
    now: current,
    after: (seconds) => sql`${current()} + ${seconds}`,
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
  };
  const batches = new BatchRows(common);
  return {
    ...common,
    insertNew: (table, row) => insertInto(table, row, 'INSERT IGNORE'),
    // Without it the server reads all records of the kind for each page.
    alongKind: raw('FORCE INDEX (kind)'),
    rows: (count) => sql`${count}`,
    addOnce: (addition) => addOnce(names.sums, addition, current()),
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
    lastInLine: (_queue, at, tail) => ({ due_at: null, available_at: Math.floor(at), place: tail + 1 }),
    tail: (queue) => findTail(names, queue, raw('')),
    failed: failedColumns(current),
    jobs: new MysqlJobs(names, batches, offset),
    batches,
    lanes: mysqlLanes(names, current),
    recordsCalls: true,
    trouble: (error) => mysqlErrors.trouble(error),
    sessionOf: transactionSession,
  };
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

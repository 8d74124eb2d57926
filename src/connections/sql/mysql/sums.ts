/** Adds to sums in one packet. */
import type { Addition } from '../dialect';
import { insertInto, type Sql, sql, type Work } from '../statement';
import { SOURCES } from '../sums';
import { packet } from './mysql-session';

export function addOnce(sums: Sql, { source, sequence, keep, amounts }: Addition, now: Sql): Work<unknown> {
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

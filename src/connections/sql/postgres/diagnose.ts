/** What hinders a PostgreSQL, for `onqueue check`, and who keeps others waiting. */
import type { Seconds } from '../../../base/clock';
import { LONG, oldTransactionWarning } from '../server/tables';
import { raw, rowsOf, sql, type Sql, type Work } from '../statement';
import type { Diagnosis } from '../../contract';

/** @param now the current time */
export function* findings(now: Sql): Work<readonly Diagnosis[]> {
  const [[standby, readOnly, encoding] = []] = yield* rowsOf(
    sql`SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('server_encoding')`,
  );
  const found: Diagnosis[] = [];
  if (standby === 't') {
    found.push({ level: 'error', subject: 'writes', message: 'this is a standby; give the address of its primary.' });
  } else if (readOnly === 'on') {
    const message = 'default_transaction_read_only is on for this user, its database or the server; switch it off.';
    found.push({ level: 'error', subject: 'writes', message });
  }
  if (encoding !== 'UTF8') {
    const message =
      `the database's encoding is ${String(encoding)}: jobs and errors with characters that it lacks are refused. ` +
      "Use a database with ENCODING 'UTF8'.";
    found.push({ level: 'warning', subject: 'encoding', message });
  }
  const [row] = yield* rowsOf(sql`${openTransactions(now, LONG)} ORDER BY age DESC LIMIT 1`);
  if (row !== undefined) found.push(oldTransactionWarning({ who: String(row[0]), age: Number(row[1]) }));
  return found;
}

const ageOf = (now: Sql, began: Sql): Sql => sql`${now} - extract(epoch FROM ${began})::double precision`;

const WHO = raw(`'pid ' || pid || ' (' || coalesce(state, 'active') || ')'`);

/** Selects those for which the server keeps what others have removed: who it is, and its age. */
export const openTransactions = (now: Sql, atLeast: Seconds): Sql => sql`SELECT who, age FROM (
    SELECT ${WHO} AS who, ${ageOf(now, raw('xact_start'))} AS age FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND coalesce(backend_xmin, backend_xid) IS NOT NULL
    UNION ALL
    SELECT 'the prepared transaction ' || gid, ${ageOf(now, raw('prepared'))} FROM pg_prepared_xacts
    WHERE database = current_database()
  ) AS transactions WHERE age > ${atLeast}`;

/** Selects the oldest transaction that has one of the tables locked: who it is, its age, and the table. */
export const oldestHolder = (now: Sql, tables: readonly string[]): Sql =>
  sql`SELECT ${WHO}, ${ageOf(now, raw('xact_start'))}, relname FROM pg_locks
    JOIN pg_stat_activity USING (pid) JOIN pg_class ON pg_class.oid = relation
    WHERE granted AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
      AND relation IN (SELECT to_regclass('"' || given || '"') FROM unnest(${`{${tables.join(',')}}`}::text[]) AS given)
    ORDER BY xact_start LIMIT 1`;

/** What hinders a PostgreSQL, for `onqueue check`. */
import type { Diagnosis } from '../../contract';
import { LONG, oldTransaction, oldTransactionWarning } from '../server/old-transactions';
import { rowsOf, type Sql, sql, type Work } from '../statement';

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
  const age = (began: Sql): Sql => sql`${now} - extract(epoch FROM ${began})::double precision`;
  const rows = yield* rowsOf(
    sql`SELECT who, age FROM (
      SELECT 'pid ' || pid || ' (' || coalesce(state, 'active') || ')' AS who, ${age(sql`xact_start`)} AS age
      FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND coalesce(backend_xmin, backend_xid) IS NOT NULL
      UNION ALL
      SELECT 'the prepared transaction ' || gid, ${age(sql`prepared`)}
      FROM pg_prepared_xacts WHERE database = current_database()
    ) AS open WHERE age > ${LONG} ORDER BY age DESC LIMIT 1`,
  );
  const old = oldTransaction(rows[0]);
  return old === undefined ? found : [...found, oldTransactionWarning(old, 'End it, and find out who left it open.')];
}

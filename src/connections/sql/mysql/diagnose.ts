/** What hinders a MySQL or MariaDB, for `onqueue check`. */
import { LONG, oldTransactionWarning, type OldTransaction } from '../server/tables';
import { raw, rowsOf, sql, valueOf, type Sql, type SqlRow, type Work } from '../statement';
import type { Diagnosis } from '../../contract';

/** @param now the current time */
export function* findings(now: Sql): Work<readonly Diagnosis[]> {
  const found: Diagnosis[] = [];
  if (Number(yield* valueOf(raw('SELECT @@global.read_only'))) !== 0) {
    const message = 'this server is read-only (read_only is on); give the address of its primary.';
    found.push({ level: 'warning', subject: 'writes', message });
  }
  const old = yield* oldestTransaction(now);
  if (old === undefined || old.age <= LONG) return found;
  return [...found, oldTransactionWarning(old)];
}

/** The oldest one of somebody else; undefined also if this user may not see those of others. */
export function* oldestTransaction(now: Sql): Work<OldTransaction | undefined> {
  let rows: readonly SqlRow[];
  try {
    // The table has the local time of the server.
    rows = yield* rowsOf(
      sql`SELECT CONCAT('thread ', trx_mysql_thread_id), ${now} - UNIX_TIMESTAMP(CONVERT_TZ(trx_started, 'SYSTEM', '+00:00'))
        FROM information_schema.innodb_trx WHERE trx_mysql_thread_id NOT IN (0, CONNECTION_ID()) ORDER BY trx_started LIMIT 1`,
    );
  } catch {
    return undefined;
  }
  const [row] = rows;
  return row && { who: String(row[0]), age: Number(row[1]) };
}

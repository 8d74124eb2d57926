/**
 * Opens a transaction of the library that the user works with, for `Queue.transaction(database, fn)`. As none of these libraries is
 * our dependency, each is recognised by its shape.
 */
import { unknownDatabase } from './errors';

/** What `fn` gets: the transaction, as the library types it. */
export type TransactionOf<Database> = Database extends {
  $transaction(fn: (transaction: infer Opened) => Promise<unknown>, ...more: never[]): unknown;
}
  ? Opened
  : Database extends { transaction(): { execute(fn: (transaction: infer Opened) => Promise<unknown>): unknown } }
    ? Opened
    : Database extends { transaction(fn: (transaction: infer Opened) => Promise<unknown>, ...more: never[]): unknown }
      ? Opened
      : unknown;

const ENDS_AT_ONCE =
  'whose transactions end when their function returns, so that nothing can be awaited in one. Begin it yourself, with a function ' +
  'that is not async: Queue.transaction(() => database.transaction((tx) => { … })).';

type Work = (transaction: unknown) => Promise<unknown>;

/** Commits if `work` resolves, and rolls back if it rejects. @throws E_UNKNOWN_DATABASE */
export async function inTransaction(database: unknown, work: Work): Promise<unknown> {
  if ((typeof database !== 'object' && typeof database !== 'function') || database === null)
    throw unknownDatabase(database);
  const { $transaction, transaction, executeQuery, raw } = database as Readonly<Record<string, unknown>>;
  // Prisma.
  if (typeof $transaction === 'function') return $transaction.call(database, work) as unknown;
  if (typeof transaction !== 'function') throw unknownDatabase(database);
  if (typeof executeQuery === 'function')
    return (transaction.call(database) as { execute(work: Work): unknown }).execute(work);
  const isKnex = typeof raw === 'function';
  const isDrizzle = 'dialect' in database && 'session' in database;
  // Over better-sqlite3 and its like, it ends with the call of `work`, and what `work` awaits would be in no transaction.
  if (isDrizzle && 'resultKind' in database && database.resultKind === 'sync')
    throw unknownDatabase(database, ENDS_AT_ONCE);
  if (isKnex || isDrizzle) return transaction.call(database, work) as unknown;
  throw unknownDatabase(database);
}

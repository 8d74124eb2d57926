/**
 * Runs our statements within the user's transaction: on a handle of libsql, by kysely or by knex.
 *
 * The user's library must be the same engine that this connection works with: SQLite tracks the locks of a process in its
 * own memory, so two copies of it in one process overwrite each other's commits.
 */
import { unknownTransaction } from '../../errors';
import { foreignEngine, notMigrated, otherFile } from '../errors';
import { knex, kysely, rowsIn, sessionOn } from '../libraries';
import { rowsOf, type Sql, sql, type SqlRow, type SqlSession, type SqlValue, type Work } from '../statement';
import { type EngineHandle, isEngineHandle } from './sqlite-database';

export interface OwnDatabase {
  readonly connection: string;
  readonly file: string;
  /**
   * The build of our own engine; undefined if it cannot open the tables now, as they are yet to be created and others have
   * the file locked.
   */
  readonly engine: () => SqlValue | undefined;
}

/**
 * Undefined if it is none of these, or not a transaction.
 *
 * @throws E_DATABASE_FOREIGN_ENGINE a handle of another engine
 */
export function userTransaction(transaction: unknown, connection: string): SqlSession | undefined {
  if ((typeof transaction !== 'object' && typeof transaction !== 'function') || transaction === null) return undefined;
  if (isEngineHandle(transaction)) {
    return transaction.inTransaction
      ? sessionOn(async (statement) => ask(transaction, statement, connection))
      : undefined;
  }
  const given = transaction as Readonly<Record<string, unknown>>;
  const query = kysely(given) ?? knex(given);
  if (query !== undefined) {
    return query === 'none' ? undefined : sessionOn(async ({ text, values }) => rowsIn(await query(text, values)));
  }
  // Another SQLite engine with synchronous calls.
  if (typeof given['prepare'] === 'function' && typeof given['exec'] === 'function') throw foreignEngine(connection);
  return undefined;
}

/** Always true. @throws E_DATABASE_NOT_MIGRATED, E_DATABASE_OTHER_FILE, E_DATABASE_FOREIGN_ENGINE */
export function* isWithin({ connection, file, engine }: OwnDatabase): Work<boolean> {
  const own = engine();
  if (own === undefined) throw notMigrated({ connection, address: file, consequence: 'the job was not queued' });
  // Compared by the database, as reading a path that is not UTF-8 as text would end the process.
  const [[isFile, isEngine] = []] = yield* rowsOf(
    sql`SELECT CAST(file AS BLOB) = CAST(${file} AS BLOB), sqlite_source_id() = ${own}
      FROM pragma_database_list WHERE name = 'main'`,
  );
  if (Number(isFile) !== 1) throw otherFile(connection, file);
  if (Number(isEngine) !== 1) throw foreignEngine(connection);
  return true;
}

function ask(handle: EngineHandle, { text, values }: Sql, connection: string): readonly SqlRow[] {
  // The transaction may have ended by now; then each statement would be committed by itself.
  if (!handle.inTransaction) throw unknownTransaction(connection, handle);
  const statement = handle.prepare(text);
  if (statement.reader) return statement.raw().all(values);
  statement.run(values);
  return [];
}

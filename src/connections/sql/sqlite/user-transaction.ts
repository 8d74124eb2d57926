/** Runs our statements within a transaction that the user has begun: on a handle of libsql, by kysely or by knex. */
import { unknownTransaction } from '../../errors';
import { ForeignEngineError } from '../errors';
import { knex } from '../libraries/knex';
import { kysely } from '../libraries/kysely';
import type { RawQuery } from '../libraries/raw-query';
import { isEngineHandle } from './sqlite-database';
import type { EngineHandle, SqliteValue } from './sqlite-database';

type Rows = readonly unknown[];

export interface UserTransaction {
  /** One statement, with `?`. Gives its rows, in lists. */
  query(sql: string, values: readonly SqliteValue[]): Promise<readonly Rows[]>;
}

/** Of any SQLite engine with synchronous calls. */
interface Handle {
  prepare(sql: string): unknown;
  exec(sql: string): unknown;
}

/**
 * Undefined: it is none of them, or no transaction.
 *
 * @throws ForeignEngineError a handle of another engine
 */
export function userTransaction(transaction: unknown, connection: string): UserTransaction | undefined {
  if ((typeof transaction !== 'object' && typeof transaction !== 'function') || transaction === null) return undefined;
  if (isEngineHandle(transaction)) return transaction.inTransaction ? byHandle(transaction, connection) : undefined;
  const query = kysely(transaction) ?? knex(transaction);
  if (query !== undefined) return query === 'none' ? undefined : byLibrary(query);
  const given = transaction as Partial<Handle>;
  if (typeof given.prepare === 'function' && typeof given.exec === 'function') throw new ForeignEngineError(connection);
  return undefined;
}

function byHandle(handle: EngineHandle, connection: string): UserTransaction {
  return {
    query: async (sql, values) => {
      // It may be over by now, and each statement would be committed by itself.
      if (!handle.inTransaction) throw unknownTransaction(connection, handle);
      const statement = handle.prepare(sql);
      if (statement.reader) return statement.raw().all(values);
      statement.run(values);
      return [];
    },
  };
}

function byLibrary(run: RawQuery): UserTransaction {
  return {
    query: async (sql, values) => {
      const answer = (await run(sql, values)) as Rows | { readonly rows: Rows };
      const rows = 'rows' in answer ? answer.rows : answer;
      // knex gives a statement without rows an object.
      return Array.isArray(rows) ? rows.map((row) => Object.values(row as object) as Rows) : [];
    },
  };
}

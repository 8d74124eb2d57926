/** Runs our statements within a transaction that the user has begun: on a handle of libsql, by kysely or by knex. */
import { UnknownTransactionError } from '../../../queue/errors';
import { ForeignEngineError } from '../errors';
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

/** What kysely calls a transaction. */
interface Kysely {
  readonly isTransaction: boolean;
  executeQuery(query: object): Promise<{ readonly rows: Rows }>;
}

/** What knex calls a transaction: a function with properties. */
interface Knex {
  readonly isTransaction: boolean;
  raw(sql: string, bindings: readonly SqliteValue[]): Promise<unknown>;
}

/**
 * Undefined: it is none of them, or no transaction.
 *
 * @throws ForeignEngineError a handle of another engine
 */
export function userTransaction(transaction: unknown, connection: string): UserTransaction | undefined {
  if ((typeof transaction !== 'object' && typeof transaction !== 'function') || transaction === null) return undefined;
  if (isEngineHandle(transaction)) return transaction.inTransaction ? byHandle(transaction, connection) : undefined;
  const given = transaction as Partial<Handle & Kysely & Knex>;
  if (typeof given.executeQuery === 'function')
    return given.isTransaction === true ? byKysely(given as Kysely) : undefined;
  if (typeof given.raw === 'function') return given.isTransaction === true ? byKnex(given as Knex) : undefined;
  if (typeof given.prepare === 'function' && typeof given.exec === 'function') throw new ForeignEngineError(connection);
  return undefined;
}

function byHandle(handle: EngineHandle, connection: string): UserTransaction {
  return {
    query: async (sql, values) => {
      // It may be over by now, and each statement would be committed by itself.
      if (!handle.inTransaction) throw new UnknownTransactionError(connection, handle);
      const statement = handle.prepare(sql);
      if (statement.reader) return statement.raw().all(values);
      statement.run(values);
      return [];
    },
  };
}

function byKysely(transaction: Kysely): UserTransaction {
  return {
    query: async (sql, parameters) => {
      const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
      const compiled = { sql, parameters, query, queryId: { queryId: 'onqueue' } };
      return listed((await transaction.executeQuery(compiled)).rows);
    },
  };
}

function byKnex(transaction: Knex): UserTransaction {
  return {
    query: async (sql, values) => {
      const answer = await transaction.raw(sql, values);
      return Array.isArray(answer) ? listed(answer) : [];
    },
  };
}

const listed = (rows: Rows): readonly Rows[] => rows.map((row) => Object.values(row as object) as Rows);

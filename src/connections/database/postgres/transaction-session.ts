/**
 * Runs our statement within a transaction that the user has begun: by pg itself, by kysely, by knex, or by anything with
 * `query(text, values)`, which takes a statement with `$1`, `$2`, …
 */
import type { SqlRow, SqlSession } from '../server/sql-session';

type Rows = { readonly rows?: readonly unknown[] } | undefined;

interface Queries {
  query(text: string, values: readonly unknown[]): Promise<Rows>;
}

/** What kysely calls a transaction. */
interface Kysely {
  readonly isTransaction: boolean;
  executeQuery(query: object): Promise<Rows>;
}

/** What knex calls a transaction: a function with properties. */
interface Knex {
  readonly isTransaction: boolean;
  raw(text: string, bindings: readonly unknown[]): Promise<Rows>;
}

/** Undefined: it is none of them, or no transaction. */
export function transactionSession(transaction: unknown): SqlSession | undefined {
  if ((typeof transaction !== 'object' && typeof transaction !== 'function') || transaction === null) return undefined;
  const given = transaction as Partial<Queries & Kysely & Knex>;
  if (typeof given.executeQuery === 'function') {
    return given.isTransaction === true
      ? sessionBy((text, values) => byKysely(given as Kysely, text, values))
      : undefined;
  }
  if (typeof given.raw === 'function') {
    return given.isTransaction === true ? sessionBy((text, values) => byKnex(given as Knex, text, values)) : undefined;
  }
  // A pool would run each statement on a connection of its own, in a transaction of its own.
  if (typeof given.query !== 'function' || 'totalCount' in given) return undefined;
  return sessionBy((text, values) => (given as Queries).query(text, values));
}

function sessionBy(run: (text: string, values: readonly unknown[]) => Promise<Rows>): SqlSession {
  return {
    query: async (text, values = []) => {
      const rows = (await run(text, values))?.rows ?? [];
      // As objects, or as lists; of text or of what parsers of the user's make of it.
      const lists = rows.map((row) => (Array.isArray(row) ? row : Object.values(row as object)) as SqlRow);
      return { rows: lists, written: 0 };
    },
  };
}

function byKysely(transaction: Kysely, sql: string, parameters: readonly unknown[]): Promise<Rows> {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
  return transaction.executeQuery({ sql, parameters, query, queryId: { queryId: 'onqueue' } });
}

/** Its parameters are `?`; in our statement they stand in their order, each once. */
function byKnex(transaction: Knex, text: string, values: readonly unknown[]): Promise<Rows> {
  return transaction.raw(text.replaceAll(/\$\d+/g, '?'), values);
}

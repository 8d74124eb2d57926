/**
 * Runs our statements within a transaction that the user has begun: by mysql2 itself, by kysely, by knex, or by anything
 * with `query(text)`. They hold no placeholders.
 */
import type { SqlRow, SqlSession } from '../server/sql-session';

/** mysql2 gives a list of rows and columns, knex the same, kysely an object. */
type Answer = readonly unknown[] | { readonly rows?: readonly unknown[] } | undefined;

interface Queries {
  query(text: string): Promise<Answer>;
}

interface WithCallbacks {
  promise(): Queries;
}

/** What kysely calls a transaction. */
interface Kysely {
  readonly isTransaction: boolean;
  executeQuery(query: object): Promise<Answer>;
}

/** What knex calls a transaction: a function with properties. */
interface Knex {
  readonly isTransaction: boolean;
  raw(text: string): Promise<Answer>;
}

/** Undefined: it is none of them, or no transaction. */
export function transactionSession(transaction: unknown): SqlSession | undefined {
  if ((typeof transaction !== 'object' && typeof transaction !== 'function') || transaction === null) return undefined;
  const given = transaction as Partial<Queries & WithCallbacks & Kysely & Knex>;
  // A pool would run each statement on a connection of its own, in a transaction of its own.
  if ('getConnection' in given) return undefined;
  if (typeof given.promise === 'function') return sessionBy((text) => (given as WithCallbacks).promise().query(text));
  if (typeof given.executeQuery === 'function') {
    return given.isTransaction === true ? sessionBy((text) => byKysely(given as Kysely, text)) : undefined;
  }
  if (typeof given.raw === 'function') {
    return given.isTransaction === true ? sessionBy((text) => (given as Knex).raw(text)) : undefined;
  }
  return typeof given.query === 'function' ? sessionBy((text) => (given as Queries).query(text)) : undefined;
}

function sessionBy(run: (text: string) => Promise<Answer>): SqlSession {
  return {
    query: async (text) => {
      const answer = await run(text);
      const rows =
        answer !== undefined && 'rows' in answer ? answer.rows : (answer as readonly unknown[] | undefined)?.[0];
      return { rows: Array.isArray(rows) ? (rows as readonly SqlRow[]) : [], written: 0 };
    },
  };
}

function byKysely(transaction: Kysely, sql: string): Promise<Answer> {
  const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
  return transaction.executeQuery({ sql, parameters: [], query, queryId: { queryId: 'onqueue' } });
}

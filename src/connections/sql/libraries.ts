/**
 * Runs a statement within a transaction that a library of the user's has begun. Each library that is known is recognised by its
 * shape, for it is none of our dependencies.
 */

import type { Sql, SqlRow, SqlSession, SqlValue } from './statement';

/** Takes a statement with `$1`, `$2`, … or `?`. Gives what the library makes of the rows: a list of them, or an object with `rows`. */
export type RawQuery = (text: string, values: readonly unknown[]) => Promise<unknown>;

type Given = Readonly<Record<string, unknown>>;

/** Undefined: it is not of this library. `'none'`: it is, and no transaction. */
type Found = RawQuery | 'none' | undefined;

/** `$1`, `$2`, … as `?`: in our statements they stand in their order, each once. */
const inOrder = (text: string): string => text.replaceAll(/\$\d+/g, '?');

export function kysely(given: Given): Found {
  const { executeQuery, isTransaction } = given;
  if (typeof executeQuery !== 'function') return undefined;
  if (isTransaction !== true) return 'none';
  return async (sql, parameters) => {
    const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
    return executeQuery.call(given, { sql, parameters, query, queryId: { queryId: 'onqueue' } }) as unknown;
  };
}

/** A function with properties. Its placeholders are `?`. */
export function knex(given: Given): Found {
  const { raw, isTransaction } = given;
  if (typeof raw !== 'function') return undefined;
  if (isTransaction !== true) return 'none';
  return async (text, values) =>
    (values.length === 0 ? raw.call(given, text) : raw.call(given, inOrder(text), values)) as unknown;
}

/** Of what it executes it asks for the SQL by methods. Only its transactions can be rolled back. */
function drizzle(given: Given): Found {
  const { execute, rollback } = given;
  if (typeof execute !== 'function' || !('dialect' in given) || !('session' in given)) return undefined;
  if (typeof rollback !== 'function') return 'none';
  return async (sql, params) =>
    execute.call(given, { getSQL: () => ({ toQuery: () => ({ sql, params }) }) }) as unknown;
}

/** An entity manager within a transaction. Its placeholders are `?`. */
function mikroOrm(given: Given): Found {
  const { isInTransaction, execute } = given;
  if (typeof isInTransaction !== 'function' || typeof execute !== 'function') return undefined;
  if (isInTransaction.call(given) !== true) return 'none';
  return async (text, values) => execute.call(given, inOrder(text), values) as unknown;
}

/** What Prisma hands to the function of an interactive transaction. Outside of one it looks the same. */
function prisma(given: Given): Found {
  const { $queryRawUnsafe } = given;
  if (typeof $queryRawUnsafe !== 'function') return undefined;
  return async (text, values) => $queryRawUnsafe.call(given, text, ...values) as unknown;
}

/** What postgres.js hands to the function of `sql.begin()`. Only what has begun no transaction has `begin`. */
function postgresJs(given: Given): Found {
  const { unsafe, begin } = given;
  if (typeof unsafe !== 'function') return undefined;
  if (typeof begin === 'function') return 'none';
  return async (text, values) => unsafe.call(given, text, values) as unknown;
}

/** A client of pg or mysql2, an entity manager or a query runner of TypeORM, or what the user has written. */
function anything(given: Given): Found {
  const { query } = given;
  if (typeof query !== 'function') return undefined;
  return async (text, values) =>
    (values.length === 0 ? query.call(given, text) : query.call(given, text, values)) as unknown;
}

const LIBRARIES = [kysely, drizzle, mikroOrm, prisma, knex, postgresJs, anything];

/** Undefined: it is none of them, or no transaction. */
export function rawQueryOf(transaction: unknown): RawQuery | undefined {
  if ((typeof transaction !== 'object' && typeof transaction !== 'function') || transaction === null) return undefined;
  for (const recognise of LIBRARIES) {
    const query = recognise(transaction as Given);
    if (query !== undefined) return query === 'none' ? undefined : query;
  }
  return undefined;
}

/** Our statements go one after another: a client of the user's own may take no more than one at once. */
export function sessionOn(ask: (statement: Sql) => Promise<readonly SqlRow[]>): SqlSession {
  return {
    run: async (statements) => {
      const results = [];
      for (const statement of statements) results.push({ rows: await ask(statement), written: 0 });
      return results;
    },
  };
}

/** Of what a library gives: rows as objects or as lists. Of a statement without rows some tell something else. */
export function rowsIn(answer: unknown): readonly SqlRow[] {
  const given = (answer as { readonly rows?: unknown } | undefined)?.rows ?? answer;
  return Array.isArray(given)
    ? given.map((row) => (Array.isArray(row) ? row : Object.values(row as object)).map(inBuffer))
    : [];
}

/** Bytes come as each library likes them. */
function inBuffer(value: unknown): SqlValue {
  const isBytes = value instanceof ArrayBuffer || (value instanceof Uint8Array && !Buffer.isBuffer(value));
  return isBytes ? Buffer.from(value as Uint8Array) : (value as SqlValue);
}

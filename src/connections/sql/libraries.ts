/**
 * Runs statements within a transaction of a library that the user works with. As none of these libraries is our dependency,
 * each is recognised by its shape.
 */

import type { Sql, SqlRow, SqlSession, SqlValue } from './statement';

/**
 * Takes a statement with `$1`, `$2`, … or `?`. Returns what the library makes of the rows: a list, or an object with `rows`.
 */
type RawQuery = (text: string, values: readonly unknown[]) => Promise<unknown>;

type Given = Readonly<Record<string, unknown>>;

/** Undefined: not of this library. `'none'`: of this library, but not in a transaction. */
type Found = RawQuery | 'none' | undefined;

/** Replaces `$1`, `$2`, … by `?`. In our statements each occurs once, in order. */
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

/** It gets the SQL of what it executes by calling methods. Only its transactions have `rollback`. */
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

/** What Prisma passes to the callback of an interactive transaction. Its client outside of one looks the same. */
function prisma(given: Given): Found {
  const { $queryRawUnsafe } = given;
  if (typeof $queryRawUnsafe !== 'function') return undefined;
  return async (text, values) => $queryRawUnsafe.call(given, text, ...values) as unknown;
}

/** What postgres.js passes to the callback of `sql.begin()`. Only what is not in a transaction has `begin`. */
function postgresJs(given: Given): Found {
  const { unsafe, begin } = given;
  if (typeof unsafe !== 'function') return undefined;
  if (typeof begin === 'function') return 'none';
  return async (text, values) => unsafe.call(given, text, values) as unknown;
}

/** A client of pg or mysql2, an entity manager or query runner of TypeORM, or the user's own object. */
function anything(given: Given): Found {
  const { query } = given;
  if (typeof query !== 'function') return undefined;
  return async (text, values) =>
    (values.length === 0 ? query.call(given, text) : query.call(given, text, values)) as unknown;
}

const LIBRARIES = [kysely, drizzle, mikroOrm, prisma, knex, postgresJs, anything];

/** Undefined if it is none of these, or not a transaction. */
export function rawQueryOf(transaction: unknown): RawQuery | undefined {
  if ((typeof transaction !== 'object' && typeof transaction !== 'function') || transaction === null) return undefined;
  for (const recognise of LIBRARIES) {
    const query = recognise(transaction as Given);
    if (query !== undefined) return query === 'none' ? undefined : query;
  }
  return undefined;
}

/** The last push of ours in each transaction. */
const pushes = new WeakMap<object, Promise<unknown>>();

/**
 * Pushes in one transaction take turns. If their statements mixed, one would read the variables that another has set. Besides, pg
 * deprecates a client that is asked while it is busy, and many listeners look like a leak.
 */
export function inTurn<T>(transaction: object, push: () => Promise<T>): Promise<T> {
  const turn = (): Promise<T> => attended(transaction as Given, push);
  const pushed = (pushes.get(transaction) ?? Promise.resolve()).then(turn);
  pushes.set(
    transaction,
    pushed.catch(() => undefined),
  );
  return pushed;
}

/**
 * If nobody listened, the end of a client's connection would end the process, although the push is refused as well. It may end while
 * the push asks the store something else.
 */
async function attended<T>(client: Given, push: () => Promise<T>): Promise<T> {
  const { on, off } = client;
  if (typeof on !== 'function' || typeof off !== 'function') return push();
  let isEnding = false;
  const leave = (): void => void off.call(client, 'error', hear);
  const hear = (): void => {
    if (!isEnding) on.call(client, 'end', leave);
    isEnding = true;
  };
  on.call(client, 'error', hear);
  try {
    return await push();
  } catch (error) {
    // PostgreSQL refuses the statement first, and ends the connection a moment later.
    if ((error as { readonly severity?: unknown } | undefined)?.severity === 'FATAL') hear();
    throw error;
  } finally {
    if (!isEnding) leave();
  }
}

/** Runs our statements one after another, as the user's client may not accept more at once. */
export function sessionOn(ask: (statement: Sql) => Promise<readonly SqlRow[]>): SqlSession {
  return {
    run: async (statements) => {
      const results = [];
      for (const statement of statements) results.push({ rows: await ask(statement), written: 0 });
      return results;
    },
  };
}

/**
 * The rows in a library's answer, be they objects or lists. For statements without rows, some libraries return something
 * else.
 */
export function rowsIn(answer: unknown): readonly SqlRow[] {
  const given = (answer as { readonly rows?: unknown } | undefined)?.rows ?? answer;
  return Array.isArray(given)
    ? given.map((row) => (Array.isArray(row) ? row : Object.values(row as object)).map(inBuffer))
    : [];
}

/** Each library returns bytes in its own type. */
function inBuffer(value: unknown): SqlValue {
  const isBytes = value instanceof ArrayBuffer || (value instanceof Uint8Array && !Buffer.isBuffer(value));
  return isBytes ? Buffer.from(value as Uint8Array) : (value as SqlValue);
}

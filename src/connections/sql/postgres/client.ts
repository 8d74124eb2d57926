/** The part of the package pg that we use, and sessions on its clients. Its types are in a package of their own. */
import { inRootContext } from '../../application';
import { peerError } from '../../kit/requirements';
import { rawQueryOf, rowsIn, sessionOn } from '../libraries';
import type { SqlClient, SqlPool } from '../server/caller';
import type { Sql, SqlResult, SqlRow, SqlSession } from '../statement';

interface PgResult {
  readonly rowCount: number | null;
  readonly rows: readonly unknown[];
}

interface PgQuery {
  readonly text: string;
  readonly values?: readonly unknown[];
  readonly rowMode?: 'array';
  readonly types?: unknown;
}

interface PgQueries {
  query(query: PgQuery): Promise<PgResult | readonly PgResult[]>;
}

interface PgPooledClient extends PgQueries {
  release(destroy?: boolean): void;
  on(event: 'error', listener: (error: Error) => void): unknown;
  off(event: 'error', listener: (error: Error) => void): unknown;
}

export interface PgPool {
  /** Calls back at once when it has a client. A pool of the user's own may only return a promise. */
  connect(
    callback: (error: Error | undefined, client?: PgPooledClient) => void,
  ): void | Promise<PgPooledClient | undefined>;
  end(): Promise<void>;
  on(event: 'error', listener: () => void): unknown;
  off(event: 'error', listener: () => void): unknown;
  /** The class of its clients, and their options. */
  readonly Client?: PgClientClass;
  readonly options?: object;
}

export interface PgClient extends PgQueries {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly database: string | undefined;
  connect(): Promise<void>;
  end(): Promise<void>;
  unref(): void;
  on(event: 'notification', listener: (message: { readonly payload?: string | undefined }) => void): unknown;
  on(event: 'error' | 'end', listener: (error?: Error) => void): unknown;
  readonly connection?: { readonly stream?: { destroy(): void } };
}

export type PgClientClass = new (options: object) => PgClient;

interface PgPackage {
  readonly Client: PgClientClass;
  readonly Pool: new (options: object) => PgPool;
}

/**
 * @param connection its name in the configuration
 * @throws E_MISSING_PEER
 */
export function loadPg(connection: string): PgPackage {
  try {
    // oxlint-disable-next-line typescript/no-require-imports -- an optional peer, loaded by who uses it
    return require('pg') as PgPackage;
  } catch (error) {
    throw peerError({ connection, driver: 'database on PostgreSQL', peer: 'pg' }, error);
  }
}

/** Keeps values as the server writes them, whatever parsers the application has set globally. */
const AS_TEXT = { getTypeParser: () => (value: unknown) => value };

/** Runs one statement; or several at once if there are no values. */
export async function query(client: PgQueries, { text, values }: Sql): Promise<SqlResult> {
  const statement = values.length === 0 ? { text } : { text: numbered(text), values };
  const answer = await client.query({ ...statement, rowMode: 'array', types: AS_TEXT });
  const { rows, rowCount } = Array.isArray(answer) ? (answer as readonly PgResult[]).at(-1)! : (answer as PgResult);
  return { rows: rows as readonly SqlRow[], written: rowCount ?? 0 };
}

/** Replaces each `?` by `$1`, `$2`, … */
export function numbered(text: string): string {
  let number = 0;
  return text.replaceAll('?', () => `$${++number}`);
}

const ignore = (): void => undefined;

/** How many connections of ours use each pool. A listener for each of them would be taken for a leak. */
const uses = new WeakMap<PgPool, number>();

function count(pool: PgPool, more: 1 | -1): void {
  const before = uses.get(pool) ?? 0;
  uses.set(pool, before + more);
  // The end of an idle connection. The pool forgets it, but without a listener it would end the process.
  if (before === 0) pool.on('error', ignore);
  if (before + more === 0) pool.off('error', ignore);
}

/** @param isOurs false: it is the user's, and never ended */
export function sqlPool(pool: PgPool, isOurs: boolean): SqlPool {
  count(pool, 1);
  return {
    acquire: () => inRootContext(() => acquire(pool)),
    close: async () => {
      if (isOurs) await pool.end();
      count(pool, -1);
    },
  };
}

/**
 * The client is listened to in the call back, not in a promise's `then`: a server that is stopped ends a session in the very
 * packet in which it began, and the pool itself listens no more.
 */
function acquire(pool: PgPool): Promise<SqlClient> {
  return new Promise((resolve, reject) => {
    const returned = pool.connect((error, client) => (client ? resolve(clientOf(client)) : reject(error!)));
    returned?.then((client) => client && resolve(clientOf(client)), reject);
  });
}

function clientOf(client: PgPooledClient): SqlClient {
  // Nobody else listens for errors of a connection in use, and without a listener its end would end the process.
  client.on('error', ignore);
  return {
    identity: client,
    run: async (statements) => {
      const results: SqlResult[] = [];
      for (const statement of statements) results.push(await query(client, statement));
      return results;
    },
    release: (broken) => {
      client.release(broken);
      client.off('error', ignore);
    },
  };
}

/**
 * Runs our statements within the user's transaction: by pg itself, by a known library, or by any object with `query(text,
 * values)` that takes `$1`, `$2`, … Undefined if it is none of these, or not a transaction.
 */
export function transactionSession(transaction: unknown): SqlSession | undefined {
  // A pool would run each statement on its own connection, in its own transaction.
  if (typeof transaction === 'object' && transaction !== null && 'totalCount' in transaction) return undefined;
  const run = rawQueryOf(transaction);
  return run && sessionOn(async ({ text, values }) => rowsIn(await run(numbered(text), values)));
}

/** Runs statements on one connection of mysql2, several in one round trip, and within transactions of the user. */
import { packetTooLarge } from '../errors';
import { rawQueryOf, rowsIn, sessionOn } from '../libraries';
import type { SqlClient } from '../server/server-caller';
import { raw, type Sql, type SqlResult, type SqlRow, type SqlSession, type Work } from '../statement';
import { inline } from './inline';
import type { MysqlConnection } from './mysql';
import { isDeadlock } from './mysql-errors';

/** How often a transaction is tried if the server rolls it back to resolve a deadlock. */
const MOST_DEADLOCKS = 5;

/**
 * A transaction that is sent as a whole, so that a process that stops halfway does not leave it open.
 *
 * @param reads run after it; their results are returned
 */
export function* packet(writes: readonly Sql[], reads: readonly Sql[] = []): Work<readonly SqlResult[]> {
  const results = yield [raw('START TRANSACTION'), ...writes, raw('COMMIT'), ...reads];
  return results.slice(writes.length + 2);
}

export class MysqlClient implements SqlClient {
  readonly identity: MysqlConnection;
  /** The largest packet that the server accepts, in bytes. */
  limit = Infinity;
  readonly #giveBack: (broken: boolean) => void;
  #broken = false;

  constructor(connection: MysqlConnection, giveBack: (broken: boolean) => void) {
    this.identity = connection;
    this.#giveBack = giveBack;
  }

  async run(statements: readonly Sql[]): Promise<readonly SqlResult[]> {
    const texts = statements.map(inline);
    if (texts.length === 1) return this.#send(texts);
    for (let deadlocks = 1; ; deadlocks += 1) {
      try {
        return await this.#send(texts);
      } catch (error) {
        await this.#send(['ROLLBACK']).catch(() => (this.#broken = true));
        if (!isDeadlock(error) || deadlocks === MOST_DEADLOCKS) throw error;
      }
    }
  }

  release(broken: boolean): void {
    this.#giveBack(broken || this.#broken);
  }

  async #send(texts: readonly string[]): Promise<readonly SqlResult[]> {
    const text = texts.join(';\n');
    // The server would end the connection, and tell the reason only to its log.
    if (text.length >= this.limit) {
      throw packetTooLarge({ bytes: text.length, limit: this.limit, consequence: 'nothing was written' });
    }
    const answer = await new Promise<unknown>((resolve, reject) => {
      this.identity.query({ sql: text, rowsAsArray: true }, (error, result) =>
        error ? reject(error) : resolve(result),
      );
    });
    return texts.length === 1 ? [resultOf(answer)] : (answer as readonly unknown[]).map(resultOf);
  }
}

function resultOf(answer: unknown): SqlResult {
  if (Array.isArray(answer)) return { rows: answer as readonly SqlRow[], written: 0 };
  return { rows: [], written: (answer as { readonly affectedRows: number }).affectedRows };
}

/**
 * Runs our statements within the user's transaction: by mysql2 itself, by a known library, or by any object with
 * `query(text)`. The statements contain no placeholders. Undefined if it is none of these, or not a transaction.
 */
export function transactionSession(transaction: unknown): SqlSession | undefined {
  if (typeof transaction !== 'object' && typeof transaction !== 'function') return undefined;
  // A pool would run each statement on its own connection, in its own transaction.
  if (transaction === null || 'getConnection' in transaction) return undefined;
  const withCallbacks = 'promise' in transaction && typeof transaction.promise === 'function';
  const run = rawQueryOf(withCallbacks ? (transaction as { promise(): unknown }).promise() : transaction);
  return run && sessionOn(async (statement) => rowsIn(rowsAlone(await run(inline(statement), []))));
}

/**
 * mysql2 returns a list of rows and columns, and knex and Drizzle pass that on. For statements without rows it is a list
 * with a summary.
 */
function rowsAlone(answer: unknown): unknown {
  const first = Array.isArray(answer) ? (answer[0] as unknown) : undefined;
  if (Array.isArray(first)) return first;
  return typeof first === 'object' && first !== null && 'affectedRows' in first ? [] : answer;
}

/**
 * Runs our statements within the user's transaction: by mysql2 itself, by a known library, or by any object with
 * `query(text)`. The statements contain no placeholders.
 */
import { rawQueryOf, rowsIn, sessionOn } from '../libraries';
import type { SqlSession } from '../statement';
import { inline } from './inline';

/** Undefined if it is none of these, or not a transaction. */
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

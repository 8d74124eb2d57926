/**
 * Runs our statements within a transaction that the user has begun: by mysql2 itself, by a library that is known, or by
 * anything with `query(text)`. They hold no placeholders.
 */
import { rawQueryOf, rowsIn, sessionOn } from '../libraries';
import type { SqlSession } from '../statement';
import { inline } from './inline';

/** Undefined: it is none of them, or no transaction. */
export function transactionSession(transaction: unknown): SqlSession | undefined {
  if (typeof transaction !== 'object' && typeof transaction !== 'function') return undefined;
  // A pool would run each statement on a connection of its own, in a transaction of its own.
  if (transaction === null || 'getConnection' in transaction) return undefined;
  const withCallbacks = 'promise' in transaction && typeof transaction.promise === 'function';
  const run = rawQueryOf(withCallbacks ? (transaction as { promise(): unknown }).promise() : transaction);
  return run && sessionOn(async (statement) => rowsIn(rowsAlone(await run(inline(statement), []))));
}

/** mysql2 gives a list of rows and columns, and knex and Drizzle what it gives; of a statement without rows what it did. */
function rowsAlone(answer: unknown): unknown {
  const first = Array.isArray(answer) ? (answer[0] as unknown) : undefined;
  if (Array.isArray(first)) return first;
  return typeof first === 'object' && first !== null && 'affectedRows' in first ? [] : answer;
}

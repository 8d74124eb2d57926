/**
 * Runs our statements within the user's transaction: by pg itself, by a known library, or by any object with `query(text,
 * values)` that takes `$1`, `$2`, …
 */
import { rawQueryOf, rowsIn, sessionOn } from '../libraries';
import type { SqlSession } from '../statement';
import { numbered } from './pg';

/** Undefined if it is none of these, or not a transaction. */
export function transactionSession(transaction: unknown): SqlSession | undefined {
  // A pool would run each statement on its own connection, in its own transaction.
  if (typeof transaction === 'object' && transaction !== null && 'totalCount' in transaction) return undefined;
  const run = rawQueryOf(transaction);
  return run && sessionOn(async ({ text, values }) => rowsIn(await run(numbered(text), values)));
}

/**
 * Runs our statement within a transaction that the user has begun: by pg itself, by a library that is known, or by anything
 * with `query(text, values)`, which takes a statement with `$1`, `$2`, …
 */
import { rawQueryOf, rowsIn, sessionOn } from '../libraries';
import type { SqlSession } from '../statement';
import { numbered } from './pg';

/** Undefined: it is none of them, or no transaction. */
export function transactionSession(transaction: unknown): SqlSession | undefined {
  // A pool would run each statement on a connection of its own, in a transaction of its own.
  if (typeof transaction === 'object' && transaction !== null && 'totalCount' in transaction) return undefined;
  const run = rawQueryOf(transaction);
  return run && sessionOn(async ({ text, values }) => rowsIn(await run(numbered(text), values)));
}

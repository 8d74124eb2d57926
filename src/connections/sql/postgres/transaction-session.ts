/**
 * Runs our statement within a transaction that the user has begun: by pg itself, by a library that is known, or by anything
 * with `query(text, values)`, which takes a statement with `$1`, `$2`, …
 */
import { rawQueryOf } from '../libraries';
import type { SqlRow, SqlSession } from '../statement';
import { numbered, runStep } from './pg';

type Answer = readonly unknown[] | { readonly rows?: readonly unknown[] } | undefined;

/** Undefined: it is none of them, or no transaction. */
export function transactionSession(transaction: unknown): SqlSession | undefined {
  // A pool would run each statement on a connection of its own, in a transaction of its own.
  if (typeof transaction === 'object' && transaction !== null && 'totalCount' in transaction) return undefined;
  const run = rawQueryOf(transaction);
  if (run === undefined) return undefined;
  return {
    run: (step) =>
      runStep(async ({ text, values }) => {
        const answer = (await run(numbered(text), values)) as Answer;
        const rows =
          answer !== undefined && 'rows' in answer ? answer.rows : (answer as readonly unknown[] | undefined);
        // As objects, or as lists; of text or of what parsers of the user's make of it.
        const lists = (rows ?? []).map((row) => (Array.isArray(row) ? row : Object.values(row as object)) as SqlRow);
        return { rows: lists, written: 0 };
      }, step),
  };
}

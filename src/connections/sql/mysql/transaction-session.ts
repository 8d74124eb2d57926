/**
 * Runs our statements within a transaction that the user has begun: by mysql2 itself, by a library that is known, or by
 * anything with `query(text)`. They hold no placeholders, and go one after another: a client of the user's own may take no more
 * than one at once.
 */
import { rawQueryOf } from '../libraries';
import type { SqlResult, SqlRow, SqlSession } from '../statement';
import { inline } from './inline';

/** mysql2 gives a list of rows and columns, and knex and Drizzle what it gives; kysely an object; others the rows. */
type Answer = readonly unknown[] | { readonly rows?: readonly unknown[] } | undefined;

/** Undefined: it is none of them, or no transaction. */
export function transactionSession(transaction: unknown): SqlSession | undefined {
  if (typeof transaction !== 'object' && typeof transaction !== 'function') return undefined;
  // A pool would run each statement on a connection of its own, in a transaction of its own.
  if (transaction === null || 'getConnection' in transaction) return undefined;
  const withCallbacks = 'promise' in transaction && typeof transaction.promise === 'function';
  const run = rawQueryOf(withCallbacks ? (transaction as { promise(): unknown }).promise() : transaction);
  if (run === undefined) return undefined;
  return {
    run: async ({ writes }) => {
      const results: SqlResult[] = [];
      for (const write of writes) results.push({ rows: rowsOf((await run(inline(write), [])) as Answer), written: 0 });
      return results;
    },
  };
}

function rowsOf(answer: Answer): readonly SqlRow[] {
  if (answer === undefined) return [];
  if ('rows' in answer) return (answer.rows ?? []) as readonly SqlRow[];
  const [first] = answer as readonly unknown[];
  if (Array.isArray(first)) return first as readonly SqlRow[];
  // What is told of a statement without rows is no row.
  return typeof first === 'object' && first !== null && 'affectedRows' in first ? [] : (answer as readonly SqlRow[]);
}

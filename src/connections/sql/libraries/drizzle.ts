/** A transaction of Drizzle. Of what it executes it asks for the SQL by methods. */
import type { RawQuery } from './raw-query';

interface Transaction {
  readonly dialect?: unknown;
  readonly session?: unknown;
  /** Only transactions have it. */
  readonly rollback?: unknown;
  execute?(query: object): Promise<unknown>;
}

export function drizzle(given: Transaction): RawQuery | 'none' | undefined {
  if (typeof given.execute !== 'function' || !('dialect' in given) || !('session' in given)) return undefined;
  if (typeof given.rollback !== 'function') return 'none';
  return (sql, params) => given.execute!({ getSQL: () => ({ toQuery: () => ({ sql, params }) }) });
}

/** A transaction of kysely. */
import type { RawQuery } from './raw-query';

interface Transaction {
  readonly isTransaction?: unknown;
  executeQuery?(query: object): Promise<unknown>;
}

export function kysely(given: Transaction): RawQuery | 'none' | undefined {
  if (typeof given.executeQuery !== 'function') return undefined;
  if (given.isTransaction !== true) return 'none';
  return (sql, parameters) => {
    const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] };
    return given.executeQuery!({ sql, parameters, query, queryId: { queryId: 'onqueue' } });
  };
}

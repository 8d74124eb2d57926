/** What postgres.js hands to the function of `sql.begin()`: a function with properties. */
import type { RawQuery } from './raw-query';

interface Sql {
  /** Only what has begun no transaction has it. */
  readonly begin?: unknown;
  unsafe?(text: string, values: readonly unknown[]): PromiseLike<unknown>;
}

export function postgresJs(given: Sql): RawQuery | 'none' | undefined {
  if (typeof given.unsafe !== 'function') return undefined;
  if (typeof given.begin === 'function') return 'none';
  return async (text, values) => given.unsafe!(text, values);
}

/** A transaction of knex: a function with properties. Its placeholders are `?`. */
import { inOrder } from './placeholders';
import type { RawQuery } from './raw-query';

interface Transaction {
  readonly isTransaction?: unknown;
  raw?(text: string, bindings?: readonly unknown[]): Promise<unknown>;
}

export function knex(given: Transaction): RawQuery | 'none' | undefined {
  if (typeof given.raw !== 'function') return undefined;
  if (given.isTransaction !== true) return 'none';
  return (text, values) => (values.length === 0 ? given.raw!(text) : given.raw!(inOrder(text), values));
}

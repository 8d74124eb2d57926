/** An entity manager of MikroORM within a transaction. Its placeholders are `?`. */
import { inOrder } from './placeholders';
import type { RawQuery } from './raw-query';

interface EntityManager {
  isInTransaction?(): boolean;
  execute?(text: string, values: readonly unknown[]): Promise<unknown>;
}

export function mikroOrm(given: EntityManager): RawQuery | 'none' | undefined {
  if (typeof given.isInTransaction !== 'function' || typeof given.execute !== 'function') return undefined;
  if (!given.isInTransaction()) return 'none';
  return (text, values) => given.execute!(inOrder(text), values);
}

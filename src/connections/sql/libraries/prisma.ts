/** What Prisma hands to the function of an interactive transaction. Outside of one it looks the same. */
import type { RawQuery } from './raw-query';

interface TransactionClient {
  $queryRawUnsafe?(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

export function prisma(given: TransactionClient): RawQuery | undefined {
  if (typeof given.$queryRawUnsafe !== 'function') return undefined;
  return async (text, values) => given.$queryRawUnsafe!(text, ...values);
}

/**
 * Transactions of others that have been open for long. A server keeps what jobs have left behind until they end, and a
 * change of a table waits for them.
 */
import type { Seconds } from '../../../base/clock';
import type { Diagnosis } from '../../contract';

/** Our own calls take milliseconds. */
export const LONG: Seconds = 10;

export interface OldTransaction {
  /** `pid 123 (idle in transaction)` */
  readonly who: string;
  readonly age: Seconds;
}

export const ageText = (age: Seconds): string =>
  age < 120 ? `${Math.max(Math.round(age), 1)} s` : `${Math.round(age / 60)} min`;

export function oldTransactionWarning({ who, age }: OldTransaction): Diagnosis {
  const message =
    `a transaction of ${ageText(age)} keeps the server from cleaning up what jobs have left, so that claims get slower: ` +
    `${who}. End it, and find out who left it open.`;
  return { level: 'warning', subject: 'transactions', message };
}

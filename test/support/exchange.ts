/** The halves of an exchange, for tests that need only one. */
import type { Connection, ReserveReply, Settlement, SettleResult, Wanted } from '../../src/connections/contract';

type Exchanging = Pick<Connection, 'exchange'>;

export async function reserveFrom(connection: Exchanging, wanted: Wanted): Promise<ReserveReply> {
  return (await connection.exchange([], wanted)).reply;
}

export async function settleIn(
  connection: Exchanging,
  settlements: readonly Settlement[],
): Promise<readonly SettleResult[]> {
  return (await connection.exchange(settlements)).results;
}

/** A call that only waits, by default for longer than a test may take. */
export async function waitOn(
  connection: Exchanging,
  queues: readonly string[],
  within = 300,
  signal?: AbortSignal,
): Promise<ReserveReply> {
  return reserveFrom(connection, { queues, limit: 0, lease: 600, within, signal });
}

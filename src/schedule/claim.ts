/**
 * Sends an occurrence once on a store that cannot push under a key: a lock on the connection of the records is held during
 * the push, and a mark stays afterwards. If the process dies between the push and the mark, the job is pushed again, under
 * the same id.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Connection, FollowUp, Once, Pushed } from '../connections/contract';
import type { OperationsConnection } from '../operations/operations-connection';
import { uuidv7 } from '../payload/uuid';

const KIND = 'claim';
/** Longer than any push may take. */
const HELD: Seconds = 30;

/** `held`: another process is about to push it. @throws what the stores throw */
export async function pushClaimed(
  target: Connection,
  operations: OperationsConnection,
  { queue, entry }: FollowUp,
  { key, until }: Once,
  now: Milliseconds,
): Promise<Pushed | 'before' | 'late' | 'held'> {
  if (now >= until) return 'late';
  const { records, locks } = operations;
  const token = uuidv7();
  if (!((await locks?.acquire(key, token, HELD)) ?? true)) return 'held';
  try {
    if ((await records.get(KIND, key)) !== undefined) return 'before';
    const pushed = await target.push(queue, [entry]);
    // The mark outlives the moment until which anybody would push.
    await records.put([{ kind: KIND, id: key, value: '' }], (until - now) / 1000 + HELD);
    return pushed?.[0] ?? 'queued';
  } finally {
    // The protected work is done, or is tried again when the lock expires.
    await locks?.release(key, token).catch(() => undefined);
  }
}

/**
 * Forgets queues that had no jobs for a week: a program that names queues after orders or customers would otherwise make every list
 * and search longer for ever.
 *
 * The store notes since when a queue has been empty. A queue that is used only between two looks may be forgotten all the same; its
 * next job makes it known again.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Connection } from '../connections/contract';
import type { OperationsConnection } from './operations-connection';

const WEEK: Milliseconds = 7 * 24 * 3_600_000;
/** How long a note is kept: longer than a week, because nobody may look for a while. */
const NOTED: Seconds = 30 * 24 * 3600;
const KIND = 'idle';
const LONGEST_ID = 255;
/** Queues in one look; the next one goes on behind them. */
const MOST_QUEUES = 1000;

/** @param turn the number of this look @throws what the stores throw */
export async function forgetIdleQueues(
  connection: Connection,
  operations: OperationsConnection,
  now: Milliseconds,
  turn: number,
): Promise<void> {
  if (connection.forget === undefined) return;
  const queues = await connection.queues();
  const first = (turn % Math.max(1, Math.ceil(queues.length / MOST_QUEUES))) * MOST_QUEUES;
  // One after the other, so that jobs come first.
  for (const queue of queues.slice(first, first + MOST_QUEUES)) {
    const id = `${connection.name}/${queue}`;
    if (id.length <= LONGEST_ID && (await mayGo(connection, operations, queue, id, now)))
      await connection.forget(queue);
  }
}

/** Whether the queue had no jobs for a week. Notes when it has none, and that it has some again. */
async function mayGo(
  connection: Connection,
  { records }: OperationsConnection,
  queue: string,
  id: string,
  now: Milliseconds,
): Promise<boolean> {
  const { ready, delayed, reserved } = await connection.counts(queue);
  const isEmpty = ready + delayed + reserved === 0;
  const since = await records.get(KIND, id);
  const note = { kind: KIND, id, value: String(now) };
  const isOver = isEmpty && since !== undefined && now - Number(since) >= WEEK;
  if (isEmpty && since === undefined) await records.put([note], NOTED);
  else if (since !== undefined && (!isEmpty || isOver)) await records.put([note], 0);
  return isOver;
}

/** The JSON of a batch, for the command line and the dashboard. */
import type { Batch } from './batch';

/** `open`: not all of its jobs are in yet. */
export type BatchWord = 'open' | 'running' | 'cancelled' | 'finished';

export function stateOf(batch: Batch): BatchWord {
  if (batch.isCancelled) return 'cancelled';
  if (batch.isFinished) return 'finished';
  return batch.isOpen ? 'open' : 'running';
}

export function batchDocument(batch: Batch): object {
  const { id, name, connection, total, pending, completed, failed, skipped, progress } = batch;
  const { allowsFailures, createdAt, cancelledAt, finishedAt } = batch;
  const counts = { total, pending, completed, failed, skipped, progress };
  return { id, name, connection, state: stateOf(batch), ...counts, allowsFailures, createdAt, cancelledAt, finishedAt };
}

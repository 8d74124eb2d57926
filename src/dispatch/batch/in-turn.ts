/** A batch on a connection that runs jobs within their push and keeps nothing: runs its jobs in turn, then what follows them. */
import type { Clock } from '../../base/clock';
import { errorMessage } from '../../base/exception-text';
import type { BatchState, NewBatch } from '../../connections/batch-store';
import type { Connection } from '../../connections/contract';
import { type BatchChange, changedBatch, newlyKept } from '../../connections/kit/batch-counts';
import type { EncodedJob } from '../encoded-job';

/** Errors of jobs are reported by their hooks, the log, and the batch's `catch`. */
export async function runInTurn(
  connection: Connection,
  begins: NewBatch,
  jobs: readonly EncodedJob[],
  clock: Clock,
): Promise<BatchState> {
  let batch = newlyKept(begins, clock.now());
  const change = async (change: BatchChange): Promise<void> => {
    const step = changedBatch(batch, change, clock.now());
    batch = step.batch;
    for (const { queue, entry } of step.followUps) await connection.push(queue, [entry]).catch(() => undefined);
  };
  const weightOf = ({ entry }: EncodedJob): number => entry.ties?.batch?.weight ?? 1;
  await change({ pending: jobs.reduce((sum, job) => sum + weightOf(job), 0) });
  for (const job of jobs) {
    const weight = weightOf(job);
    if (batch.cancelledAt !== undefined) {
      await change({ pending: -weight, skipped: weight });
      continue;
    }
    try {
      await connection.push(job.queue, [job.entry]);
      await change({ pending: -weight, completed: weight });
    } catch (error) {
      const cause = { id: job.id, name: job.name, message: errorMessage(error) };
      await change({ pending: -weight, failed: 1, skipped: weight - 1, cause });
    }
  }
  return batch;
}

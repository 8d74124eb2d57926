/** Keeps how a job ends whose class keeps its results, before the end itself is written: it is there when the job counts as ended. */
import type { Application, JobEnd } from '../connections/application';
import { keptResult } from '../job/resolve-options';
import type { Outcome, RunningJob } from './running-job';

export function keepsEnd({ definition }: RunningJob): boolean {
  return keptResult(definition) !== undefined;
}

/** @throws QueueUnavailableError who is to keep it is away */
export async function keepEndOf(
  application: Pick<Application, 'keepEnd'>,
  job: RunningJob,
  outcome: Outcome,
): Promise<void> {
  const keep = keptResult(job.definition);
  const end = keep === undefined ? undefined : endOf(job, outcome);
  if (end !== undefined) await application.keepEnd(job, end, keep!);
}

/** Undefined: it goes back to its queue. */
function endOf({ value }: RunningJob, { settlement, error, cancelReason }: Outcome): JobEnd | undefined {
  if (settlement.outcome === 'completed') return { kind: 'completed', value };
  if (settlement.outcome === 'cancelled') return { kind: 'cancelled', reason: cancelReason };
  return settlement.outcome === 'failed' && error !== undefined ? { kind: 'failed', error } : undefined;
}

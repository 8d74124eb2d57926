/**
 * Keeps the result or the error of a job whose class asks for that. Written before the outcome, so that it is there once the
 * job counts as ended.
 */
import type { Application, JobEnd } from '../connections/application';
import { keptResult } from '../job/resolve-options';
import type { Outcome, RunningJob } from './running-job';

export function keepsEnd({ definition }: RunningJob): boolean {
  return keptResult(definition) !== undefined;
}

/** @throws QueueUnavailableError the store that should keep it is away */
export async function keepEndOf(
  application: Pick<Application, 'keepEnd'>,
  job: RunningJob,
  outcome: Outcome,
): Promise<void> {
  const keep = keptResult(job.definition);
  const end = keep === undefined ? undefined : endOf(job, outcome);
  if (end !== undefined) await application.keepEnd(job, end, keep!);
}

/** Undefined if the job goes back to its queue. */
function endOf({ value }: RunningJob, { settlement, error, cancelReason }: Outcome): JobEnd | undefined {
  if (settlement.outcome === 'completed') return { kind: 'completed', value };
  if (settlement.outcome === 'cancelled') return { kind: 'cancelled', reason: cancelReason };
  return settlement.outcome === 'failed' && error !== undefined ? { kind: 'failed', error } : undefined;
}

/** The jobs that a batch sends when something happens to it, as people see them. */
import {
  type BatchCallback,
  type BatchCallbacks,
  type BatchEvent,
  callbackPayload,
} from '../../connections/batch-store';
import type { ChainedJob } from '../../job/job-context';
import { CARRIER, chainedJobOf, readCarried } from '../../payload/chain';

/** A job that a batch sends. */
export interface BatchCallbackJob extends ChainedJob {
  /** `next`: the rest of the chain in which the batch is a link. */
  readonly on: BatchEvent;
  /** For `progress`: sent each time this many jobs have ended. */
  readonly every?: number | undefined;
  /** For `progress`, which may be sent several times with `-` and a number after its id: whether it was sent at least once. */
  readonly isSent: boolean;
}

/** @param ended how many of its jobs have ended */
export function callbackJobs(
  { callbacks, every = Infinity, sent }: BatchCallbacks,
  connection: string,
  ended: number,
): readonly BatchCallbackJob[] {
  return callbacks.map((callback) => {
    const job = jobOf(callback, connection);
    const { on } = callback;
    return on === 'progress'
      ? { ...job, on, every, isSent: ended >= every }
      : { ...job, on, isSent: sent.includes(on) };
  });
}

/** If the callback is a carrier, shows the job that it carries. */
function jobOf(callback: BatchCallback, connection: string): ChainedJob {
  const payload = callbackPayload(callback);
  const job = chainedJobOf({ queue: callback.queue, payload }, connection);
  if (job.name !== CARRIER) return job;
  const [carried] = readCarried((JSON.parse(payload) as { readonly data: unknown }).data);
  return chainedJobOf(carried!, connection);
}

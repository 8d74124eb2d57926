/** What a batch sends when something becomes of it, as people see it. */
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
  /** `next`: what goes on behind a batch that is a link of a chain. */
  readonly on: BatchEvent;
  /** Of `progress`: after so many jobs each. */
  readonly every?: number | undefined;
  /** Of `progress`, which may be sent again with `-` and a number behind its id: at least once. */
  readonly isSent: boolean;
}

/** @param ended how many of its jobs have */
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

/** What a carrier takes elsewhere stands in it. */
function jobOf(callback: BatchCallback, connection: string): ChainedJob {
  const payload = callbackPayload(callback);
  const job = chainedJobOf({ queue: callback.queue, payload }, connection);
  if (job.name !== CARRIER) return job;
  const [carried] = readCarried((JSON.parse(payload) as { readonly data: unknown }).data);
  return chainedJobOf(carried!, connection);
}

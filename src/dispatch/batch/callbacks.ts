/** The jobs that a batch sends: in the form in which a store keeps them, and as people see them. */
import type { Application } from '../../connections/application';
import {
  type BatchCallback,
  type BatchCallbacks,
  type BatchEvent,
  callbackParts,
  callbackPayload,
  type NewBatch,
} from '../../connections/batch-store';
import type { Onward } from '../../connections/onward';
import type { ChainedJob } from '../../job/job-context';
import { CARRIER, chainedJobOf, type ChainLink, readCarried } from '../../payload/chain';
import { BATCH_FIELD, withMembers } from '../../payload/payload-text';
import { carrierText } from '../built-in/carry';
import type { BatchPlace } from './members';

/** Without a queue it is a carrier, which waits where the batch's jobs do: there might be no worker for another queue. */
export type PlannedCallback = Omit<BatchCallback, 'queue'> & Partial<Pick<BatchCallback, 'queue'>>;

export type PlannedBatch = Omit<NewBatch, 'callbacks'> & { readonly callbacks: readonly PlannedCallback[] };

/**
 * The job itself, or a carrier if the store cannot send it: to another connection, to another queue of a cluster, or if a moment
 * in its text must be computed when it is sent.
 */
export function callbackOf(
  on: BatchEvent,
  link: ChainLink,
  place: BatchPlace,
  { registry }: Pick<Application, 'registry'>,
): PlannedCallback {
  const { connection = place.connection, queue, delay, dueAt, retryWithin } = link;
  const batch = { id: place.id, connection: place.connection, queue: place.queue };
  const payload = withMembers(link.payload, `"${BATCH_FIELD}":${JSON.stringify(batch)},`);
  const isReached = connection === place.connection && (place.only ?? queue) === queue && retryWithin === undefined;
  if (isReached) return { on, queue, delay, dueAt, ...callbackParts(payload) };
  const onward: Onward = { connection, queue, retryWithin, entry: { payload, delay, dueAt } };
  return { on, ...callbackParts(carrierText(onward, registry)) };
}

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

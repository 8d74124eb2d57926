/** The jobs that a batch sends: in the form in which a store keeps them, and as people see them. */
import type { Application } from '../../connections/application';
import {
  callbackParts,
  callbackPayload,
  type BatchCallback,
  type BatchCallbacks,
  type BatchEvent,
  type NewBatch,
} from '../../connections/batch-store';
import type { Onward } from '../../connections/entries';
import type { ChainedJob } from '../../job/job-context';
import type { JobRegistry } from '../../job/registry';
import { CARRIER, chainedJobOf, readCarried, type ChainLink } from '../../payload/chain';
import { envelopeIn } from '../../payload/envelope';
import { withBatch } from '../../payload/payload-text';
import { uuidv7 } from '../../payload/uuid';
import { carrierText } from '../built-in/carry';
import { sealText } from '../built-in/seal';
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
  const { id, connection: kept, queue: keptIn, chosenQueue: jobs } = place;
  const payload = withBatch(link.payload, { id, connection: kept, queue: keptIn, jobs });
  const isReached = connection === place.connection && (place.only ?? queue) === queue && retryWithin === undefined;
  if (isReached) return { on, queue, delay, dueAt, ...callbackParts(payload) };
  const onward: Onward = { connection, queue, retryWithin, entry: { payload, delay, dueAt } };
  return { on, ...callbackParts(carrierText(onward, registry)) };
}

/**
 * What tells those who add jobs later what `onQueue()` said, for a batch without callbacks, whose texts would say it: stores keep
 * nothing else of ours. A progress of a batch that reports none, it is never sent.
 */
export function noteOf({ id, chosenQueue: jobs, queue }: BatchPlace, classes: JobRegistry): PlannedCallback {
  return { on: 'progress', queue, ...callbackParts(withBatch(sealText(uuidv7(), id, undefined, classes), { jobs })) };
}

/** What `onQueue()` of the batch said. */
export function jobsQueueOf({ callbacks }: BatchCallbacks): string | undefined {
  const [callback] = callbacks;
  return callback && envelopeIn(Buffer.from(sentBy(callback).payload))?.batchJobs;
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
  // Without the note.
  const sending = callbacks.filter(({ on }) => on !== 'progress' || every !== Infinity);
  return sending.map((callback) => {
    const job = chainedJobOf(sentBy(callback), connection);
    const { on } = callback;
    return on === 'progress'
      ? { ...job, on, every, isSent: ended >= every }
      : { ...job, on, isSent: sent.includes(on) };
  });
}

/** If the callback is a carrier: the job that it carries. */
function sentBy(callback: BatchCallback): ChainLink {
  const payload = callbackPayload(callback);
  const link = { queue: callback.queue, payload };
  if (chainedJobOf(link, '').name !== CARRIER) return link;
  const [carried] = readCarried((JSON.parse(payload) as { readonly data: unknown }).data);
  return carried!;
}

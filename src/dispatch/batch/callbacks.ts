/** The jobs that a batch sends, in the form in which a store keeps them. */
import type { Application } from '../../connections/application';
import { type BatchCallback, type BatchEvent, callbackParts, type NewBatch } from '../../connections/batch-store';
import type { Onward } from '../../connections/onward';
import type { ChainLink } from '../../payload/chain';
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

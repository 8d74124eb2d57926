/** Sends a batch: in one call where it fits, otherwise open until the last of its jobs is in. */
import { toError } from '../../base/exception-text';
import type { BatchReference } from '../../connections/application';
import type { BatchState } from '../../connections/batch-store';
import type { Entry } from '../../connections/contract';
import { CapabilityError } from '../../connections/errors';
import type { BatchDetour, ChosenBatch } from '../../job/batch';
import { invalidBatch } from '../../job/errors';
import { uuidv7 } from '../../payload/uuid';
import { declareStartBatch, StartBatch } from '../built-in/start-batch';
import type { DispatchApplication } from '../dispatch-application';
import { batchIncomplete } from '../errors';
import { keepOf } from '../send';
import { Transaction } from '../transaction/transaction';
import { callbackOf, type PlannedBatch } from './callbacks';
import { Chunks } from './chunks';
import { type BatchPlace, Members } from './members';
import { Sending } from './sending';

/** A batch that is in its store, or will be with a commit. */
export interface SentBatch {
  readonly place: BatchPlace;
  readonly state: BatchState;
}

/** @throws what is wrong with it, and E_BATCH_INCOMPLETE */
export async function sendBatch(
  manager: DispatchApplication,
  chosen: ChosenBatch,
  { commit, within }: BatchDetour,
): Promise<SentBatch> {
  const place = placeOf(manager, { ...chosen, id: uuidv7() }, chosen.queue);
  const chunks = new Chunks(chosen.source, new Members(manager, place), manager.clock);
  const sending = new Sending(manager, place, newBatchOf(manager, chosen, place), within?.transaction);
  const open = commit === 'before' || within !== undefined ? undefined : Transaction.keep();
  const keep = keepOf(manager, undefined, place.connection, {
    keep: open,
    commit: commit === 'after' ? 'after' : undefined,
  });
  // What is wrong with a list is told where it was dispatched; what gives its jobs one by one is asked when they are sent.
  const first = chunks.isList || keep === undefined ? await chunks.next() : undefined;
  if (keep === undefined) await sending.send(chunks, first);
  else {
    const { connection, queue } = place;
    let failure: Error | undefined;
    const push = async (): Promise<string> => {
      if (failure !== undefined) throw failure;
      try {
        await sending.send(chunks, first);
        return '';
      } catch (error) {
        // Sent again it would be another batch under this id: some of its jobs are in, or its source has given some and is closed.
        if (first === undefined || batchIncomplete.is(error)) failure = toError(error);
        throw error;
      }
    };
    keep(
      { name: `the batch ${chosen.name || place.id}`, connection, queue, push, isLasting: first === undefined },
      manager,
    );
  }
  return { place, state: sending.state };
}

/**
 * @param chosenQueue where those of its jobs go that say nothing themselves; undefined: where their classes say
 * @throws E_UNKNOWN_CONNECTION; CapabilityError it keeps no batches
 */
export function placeOf(
  manager: DispatchApplication,
  { id, connection, queue }: Pick<BatchReference, 'id' | 'queue'> & { readonly connection: string | undefined },
  chosenQueue?: string,
): BatchPlace {
  const settings = manager.settings(connection);
  const { capabilities, driver, isDivided } = manager.driver(settings.name);
  // What runs jobs at once, or drops them, keeps none and needs none kept.
  if (capabilities.reserve && capabilities.batches !== true)
    throw new CapabilityError(settings.name, driver, 'batches');
  const usual = queue ?? settings.queue;
  return { id, connection: settings.name, queue: usual, chosenQueue, only: isDivided === true ? usual : undefined };
}

function newBatchOf(manager: DispatchApplication, chosen: ChosenBatch, place: BatchPlace): PlannedBatch {
  const { name, allowsFailures, every } = chosen;
  const callbacks = chosen.callbacks.map(({ on, job }) => {
    const [link] = manager.encoder.links([job], place.connection, {
      connection: place.connection,
      queue: place.chosenQueue,
    });
    return callbackOf(on, link!, place, manager);
  });
  return { id: place.id, name, allowsFailures, callbacks, every };
}

/**
 * The job that stands for a batch in a chain.
 *
 * @throws what is wrong with its jobs
 */
export function linkOfBatch(manager: DispatchApplication, chosen: ChosenBatch): StartBatch {
  declareStartBatch();
  const place = placeOf(manager, { ...chosen, id: uuidv7() }, chosen.queue);
  const members = new Members(manager, place);
  if (typeof chosen.source !== 'object' || !(Symbol.iterator in chosen.source))
    throw invalidBatch(chosen.source, 'in a chain it takes a list of jobs: they travel with the chain.');
  const jobs = Array.from(chosen.source, (member) => members.encode(member)).filter((job) => job !== undefined);
  const plans = jobs.map(({ id, name, queue, entry, retryWithin }) => ({
    id,
    name,
    queue,
    // A plain object, as it travels in the text of the job.
    entry: JSON.parse(JSON.stringify(entry)) as Entry,
    ...(retryWithin !== undefined && { retryWithin }),
  }));
  return new StartBatch({ place, begins: newBatchOf(manager, chosen, place), jobs: plans });
}

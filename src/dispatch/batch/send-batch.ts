/** Sends a batch: in one call if it fits, otherwise open until its last job is in. */
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
import { callbackOf, noteOf, type PlannedBatch } from './callbacks';
import { Chunks } from './chunks';
import { type BatchPlace, Members } from './members';
import { Sending } from './sending';

/** A batch that is in its store, or will be after a commit. */
export interface SentBatch {
  readonly place: BatchPlace;
  readonly state: BatchState;
}

/** @throws any error of the batch, and E_BATCH_INCOMPLETE */
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
  // Errors of a list must be thrown where it was dispatched; an iterable is asked for jobs only when they are sent.
  const first = chunks.isList || keep === undefined ? await chunks.next() : undefined;
  const send = async (): Promise<void> => sending.send(first ?? (await chunks.next()), chunks);
  if (keep === undefined) await send();
  else {
    const { connection, queue } = place;
    let failure: Error | undefined;
    const push = async (): Promise<string> => {
      if (failure !== undefined) throw failure;
      try {
        await send();
        return '';
      } catch (error) {
        // Another attempt would be a different batch under the same id: some jobs are in, or the iterable has yielded some and is
        // closed.
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
 * @param chosenQueue where jobs go that choose no queue themselves; undefined if their classes decide
 * @throws E_UNKNOWN_CONNECTION; CapabilityError the connection keeps no batches
 */
export function placeOf(
  manager: DispatchApplication,
  { id, connection, queue }: Pick<BatchReference, 'id'> & Pick<ChosenBatch, 'connection' | 'queue'>,
  chosenQueue?: string,
): BatchPlace {
  const settings = manager.settings(connection);
  const { capabilities, driver } = manager.driver(settings.name);
  // A connection that runs jobs at once, or drops them, needs no batches.
  if (capabilities.reserve && capabilities.batches !== true)
    throw new CapabilityError(settings.name, driver, 'batches');
  const usual = queue ?? settings.queue;
  return {
    id,
    connection: settings.name,
    queue: usual,
    chosenQueue,
    only: capabilities.follows === 'queue' ? usual : undefined,
  };
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
  const isNoted = place.chosenQueue !== undefined && callbacks.length === 0;
  return {
    id: place.id,
    name,
    allowsFailures,
    callbacks: isNoted ? [noteOf(place, manager.registry)] : callbacks,
    every,
  };
}

/**
 * The job that stands for a batch in a chain.
 *
 * @throws any error of its jobs
 */
export function linkOfBatch(manager: DispatchApplication, chosen: ChosenBatch): StartBatch {
  declareStartBatch();
  const place = placeOf(manager, { ...chosen, id: uuidv7() }, chosen.queue);
  const members = new Members(manager, place);
  if (typeof chosen.source !== 'object' || !(Symbol.iterator in chosen.source))
    throw invalidBatch(chosen.source, 'in a chain it takes a list of jobs, because they travel with the chain.');
  const jobs = Array.from(chosen.source, (member) => members.encode(member)).filter((job) => job !== undefined);
  const plans = jobs.map(({ id, name, queue, entry, retryWithin }) => ({
    id,
    name,
    queue,
    // A plain object, as it travels in the job's text.
    entry: JSON.parse(JSON.stringify(entry)) as Entry,
    ...(retryWithin !== undefined && { retryWithin }),
  }));
  return new StartBatch({ place, begins: newBatchOf(manager, chosen, place), jobs: plans });
}

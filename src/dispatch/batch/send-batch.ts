/** Begins batches: one that is dispatched, one that is a link of a chain, and more jobs for an existing one. */
import { toError } from '../../base/exception-text';
import { type Application, currentApplication, type BatchReference } from '../../connections/application';
import type { BatchState, NewBatch } from '../../connections/batch-store';
import type { Entry, Connection } from '../../connections/contract';
import { CapabilityError, batchEnded } from '../../connections/errors';
import type { BatchDetour, ChosenBatch } from '../../job/pending';
import { invalidBatch } from '../../job/errors';
import { uuidv7 } from '../../payload/uuid';
import { batchIncomplete, batchForgotten } from '../errors';
import { orEndUnsent, keepOf, positioned, sendBulk, bytesOf, groups } from '../send';
import { Transaction } from '../transaction';
import { callbackOf, noteOf, Members, type PlannedBatch, type BatchPlace, type PlannedCallback } from './members';
import { Chunks, Sending, pushPageOnce, beginningOf, type BatchPage } from './sending';
import { JobContext, type BatchMember, type BatchSource } from '../../job/job-context';
import type { Onward } from '../../connections/entries';
import { timeOf, type Seconds } from '../../base/clock';
import { pagesOf } from '../../base/collections';
import { inject } from '../../container/scope';
import { CARRIER, chainedLink, readChain } from '../../payload/chain';
import type { EncodedJob } from '../job-encoder';
import { Carry, declareBuiltIn, OPEN_FOR, pageKey, Seal, SEAL } from '../built-in';

/** A batch that is in its store, or will be after a commit. */
export interface SentBatch {
  readonly place: BatchPlace;
  readonly state: BatchState;
}

/** @throws any error of the batch, and E_BATCH_INCOMPLETE */
export async function sendBatch(
  manager: Application,
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
    const jobs = first?.jobs ?? [];
    const drop = (): void => jobs.forEach(({ observed }) => observed?.drop());
    const name = `the batch ${chosen.name || place.id}`;
    orEndUnsent(jobs, () => keep({ name, connection, queue, push, isLasting: first === undefined, drop }, manager));
  }
  return { place, state: sending.state };
}

/**
 * @param chosenQueue where jobs go that choose no queue themselves; undefined if their classes decide
 * @throws E_UNKNOWN_CONNECTION; CapabilityError the connection keeps no batches
 */
export function placeOf(
  manager: Application,
  { id, connection, queue }: Pick<BatchReference, 'id'> & Pick<ChosenBatch, 'connection' | 'queue'>,
  chosenQueue?: string,
): BatchPlace {
  const settings = manager.settings(connection);
  const { capabilities, driver, batches } = manager.driver(settings.name);
  // A connection that runs jobs at once, or drops them, needs no batches.
  if (capabilities.reserve && batches === undefined) throw new CapabilityError(settings.name, driver, 'batches');
  const usual = queue ?? settings.queue;
  return {
    id,
    connection: settings.name,
    queue: usual,
    chosenQueue,
    only: capabilities.follows === 'queue' ? usual : undefined,
  };
}

function newBatchOf(manager: Application, chosen: ChosenBatch, place: BatchPlace): PlannedBatch {
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
export function linkOfBatch(manager: Application, chosen: ChosenBatch): StartBatch {
  declareBuiltIn(StartBatch, START_BATCH);
  const place = placeOf(manager, { ...chosen, id: uuidv7() }, chosen.queue);
  const members = new Members(manager, place);
  if (typeof chosen.source !== 'object' || !(Symbol.iterator in chosen.source))
    throw invalidBatch(chosen.source, 'in a chain it takes a list of jobs, because they travel with the chain.');
  const jobs = Array.from(chosen.source, (member) => members.encode(member)).filter((job) => job !== undefined);
  for (const { observed } of jobs) observed?.end();
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

/** Sends the jobs, and returns how many went in. */
export async function addToBatch(manager: Application, batch: BatchReference, jobs: BatchSource): Promise<number> {
  const chunks = new Chunks(jobs, new Members(manager, placeOf(manager, batch, batch.jobs)), manager.clock);
  let [added, sent] = [0, 0];
  try {
    for (let isLast = false; !isLast;) {
      const chunk = await chunks.next();
      isLast = chunk.isLast;
      const ids = await sendBulk(chunk.jobs, (name) => manager.driver(name));
      added += ids.filter((id, at) => id === chunk.jobs[at]!.id).length;
      sent += chunk.jobs.length;
    }
    return added;
  } catch (error) {
    chunks.close();
    throw sent === 0 ? error : positioned(error, `behind the first ${sent} jobs, which are in`);
  }
}

/** The jobs that go in with the outcome of one of the batch's jobs. */
export function membersOf(manager: Application, batch: BatchReference, jobs: Iterable<BatchMember>): readonly Onward[] {
  if (typeof jobs !== 'object' || jobs === null || !(Symbol.iterator in jobs))
    throw invalidBatch(
      jobs,
      'add() takes a list of jobs, as in add([new Resize(1)]); addNow() also takes a generator.',
    );
  const members = new Members(manager, placeOf(manager, batch, batch.jobs));
  return Array.from(jobs).flatMap((job) => members.encodeFollower(job) ?? []);
}

export const START_BATCH = 'onqueue:batch';

export interface BatchPlan {
  readonly place: BatchPlace;
  readonly begins: PlannedBatch;
  readonly jobs: readonly Pick<EncodedJob, 'id' | 'name' | 'queue' | 'entry' | 'retryWithin'>[];
}

/** For how long the first page is not pushed again: two runs may both find no batch, if a call takes long. */
const BEGUN: Seconds = 3600;
/** For how long the other pages are not pushed again. If it was longer ago, nobody knows which of them are in. */
const KEPT: Seconds = 7 * 86_400;

/**
 * A batch as a link of a chain: its jobs travel in it, and are sent when its turn comes. The batch then sends the rest of the
 * chain once it has ended well.
 *
 * Whatever happens to the worker or the store meanwhile, it runs again until all jobs are in, and each page goes in once: nobody
 * gives up and cancels the batch, because nobody would be there to hear of it.
 */
export class StartBatch {
  readonly plan: BatchPlan;

  constructor(plan: BatchPlan) {
    this.plan = plan;
  }

  async handle(): Promise<void> {
    const { place, begins, jobs } = this.plan;
    // Whatever runs jobs can also send them.
    const manager = currentApplication()!;
    const job = inject(JobContext);
    const driver = manager.driver(place.connection);
    const callbacks = [...begins.callbacks, ...behind(job, this.plan, manager)];
    const batch = { ...begins, callbacks };
    const hooks = manager.hooks.hears.queueing || manager.hooks.hears.queued ? { hooks: manager.hooks } : {};
    const encoded = jobs.map((one) => ({ ...one, connection: place.connection, ...hooks }));
    // What runs its jobs at once keeps no batch, and no key.
    if (!driver.capabilities.reserve) return new Sending(manager, place, batch).send({ jobs: encoded, isLast: true });
    const failure = await sendPlan(manager, driver, place, batch, pagesIn(encoded, place.queue));
    // A retry by hand might come in time, but one by itself would change nothing.
    if (failure !== undefined) job.fail(failure);
  }
}

/** Returns why it can never be complete. Undefined if all jobs are in. @throws what the store throws: then it goes on later */
async function sendPlan(
  manager: Application,
  driver: Connection,
  { id, queue: place, connection }: BatchPlace,
  plan: PlannedBatch,
  [first, ...rest]: readonly [BatchPage, ...BatchPage[]],
): Promise<Error | undefined> {
  const batches = driver.batches!;
  if ((await batches.find(id, place)) === undefined) {
    const begins: NewBatch = { ...beginningOf(plan, first.queue), ...(rest.length > 0 && { openFor: OPEN_FOR }) };
    const until = (await timeOf(driver, manager.clock)) + BEGUN * 1000;
    await pushPageOnce(driver, { ...first, begins }, { key: pageKey(id, 0), until });
  }
  if (rest.length === 0) return undefined;
  const batch = await batches.find(id, place);
  // All of its jobs are in. Undefined: they have even ended, and it was forgotten.
  if (batch?.openUntil === undefined) return undefined;
  const until = batch.createdAt + KEPT * 1000;
  try {
    for (const [at, page] of rest.entries()) {
      const pushed = await pushPageOnce(driver, page, { key: pageKey(id, at + 1), until });
      if (pushed === 'late') return batchForgotten(id, connection);
    }
  } catch (error) {
    // Somebody has forgotten it meanwhile.
    if (batchEnded.is(error)) return error;
    throw error;
  }
  await batches.seal(id, place);
  return undefined;
}

/** Pages of one queue each. A second run makes the same ones. */
function pagesIn(jobs: readonly EncodedJob[], queue: string): readonly [BatchPage, ...BatchPage[]] {
  const pages: BatchPage[] = [];
  for (const group of groups(jobs))
    for (const page of pagesOf(group, bytesOf)) pages.push({ queue: group[0].queue, jobs: page });
  const [first = { queue, jobs: [] }, ...rest] = pages;
  return [first, ...rest];
}

/** The rest of the chain, and the chain's `catch`. */
function behind({ payload }: JobContext, { place, begins }: BatchPlan, manager: Application): PlannedCallback[] {
  const chain = readChain(payload);
  const callbacks: PlannedCallback[] = [];
  if (chain.links.length > 0) callbacks.push(callbackOf('next', chainedLink(chain, place.connection), place, manager));
  if (chain.caught !== undefined && !begins.allowsFailures)
    callbacks.push(callbackOf('catch', chain.caught, place, manager));
  return callbacks;
}

/** Before the first job runs. */
export function declareBuiltIns(): void {
  declareBuiltIn(Carry, CARRIER);
  declareBuiltIn(Seal, SEAL);
  declareBuiltIn(StartBatch, START_BATCH);
}

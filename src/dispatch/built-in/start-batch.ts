/**
 * A batch as a link of a chain: its jobs travel in it, and are sent when its turn comes. The batch then sends the rest of the
 * chain once it has ended well.
 *
 * Whatever happens to the worker or the store meanwhile, it runs again until all jobs are in, and each page goes in once: nobody
 * gives up and cancels the batch, because nobody would be there to hear of it.
 */
import type { Seconds } from '../../base/clock';
import { pagesOf } from '../../base/pages';
import { currentApplication } from '../../connections/application';
import type { NewBatch } from '../../connections/batch-store';
import type { Connection } from '../../connections/contract';
import { batchEnded } from '../../connections/errors';
import { inject } from '../../container/scope';
import { JobContext } from '../../job/job-context';
import { chainedLink, readChain } from '../../payload/chain';
import { callbackOf, type PlannedBatch, type PlannedCallback } from '../batch/callbacks';
import type { BatchPlace } from '../batch/members';
import { type BatchPage, pageKey, pushPageOnce, timeOf } from '../batch/page-once';
import { beginningOf, Sending } from '../batch/sending';
import { bytesOf, groups } from '../bulk';
import type { DispatchApplication } from '../dispatch-application';
import type { EncodedJob } from '../encoded-job';
import { batchForgotten } from '../errors';
import { declareBuiltIn } from './declare-built-in';
import { OPEN_FOR } from './seal';

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

export class StartBatch {
  readonly plan: BatchPlan;

  constructor(plan: BatchPlan) {
    this.plan = plan;
  }

  async handle(): Promise<void> {
    const { place, begins, jobs } = this.plan;
    // Whatever runs jobs can also send them.
    const manager = currentApplication() as DispatchApplication;
    const job = inject(JobContext);
    const driver = manager.driver(place.connection);
    const callbacks = [...begins.callbacks, ...behind(job, this.plan, manager)];
    const batch = { ...begins, callbacks };
    const hooks = manager.hooks.has('queueing') || manager.hooks.has('queued') ? { hooks: manager.hooks } : {};
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
  manager: DispatchApplication,
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
function behind(
  { payload }: JobContext,
  { place, begins }: BatchPlan,
  manager: DispatchApplication,
): PlannedCallback[] {
  const chain = readChain(payload);
  const callbacks: PlannedCallback[] = [];
  if (chain.links.length > 0) callbacks.push(callbackOf('next', chainedLink(chain, place.connection), place, manager));
  if (chain.caught !== undefined && !begins.allowsFailures)
    callbacks.push(callbackOf('catch', chain.caught, place, manager));
  return callbacks;
}

export function declareStartBatch(): void {
  declareBuiltIn(StartBatch, START_BATCH);
}

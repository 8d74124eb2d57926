/**
 * A batch as a link of a chain: its jobs travel in it, and are sent when its turn comes. The batch then sends the rest of the
 * chain once it has ended well.
 */
import type { Seconds } from '../../base/clock';
import { currentApplication } from '../../connections/application';
import { inject } from '../../container/scope';
import { JobContext } from '../../job/job-context';
import { chainedLink, readChain } from '../../payload/chain';
import { callbackOf, type PlannedBatch, type PlannedCallback } from '../batch/callbacks';
import type { BatchPlace } from '../batch/members';
import { Sending } from '../batch/sending';
import type { DispatchApplication } from '../dispatch-application';
import type { EncodedJob } from '../encoded-job';
import { declareBuiltIn } from './declare-built-in';

export const START_BATCH = 'onqueue:batch';

export interface BatchPlan {
  readonly place: BatchPlace;
  readonly begins: PlannedBatch;
  readonly jobs: readonly Pick<EncodedJob, 'id' | 'name' | 'queue' | 'entry' | 'retryWithin'>[];
}

/** Seconds to wait if the batch was sent only in part. By then its seal has ended it. */
const AGAIN: Seconds = 60;

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
    const known = await manager.driver(place.connection).batches?.find(place.id, place.queue);
    // A worker died after the first of its calls.
    if (known?.openUntil !== undefined) return job.defer(AGAIN);
    if (known !== undefined) return;
    const callbacks = [...begins.callbacks, ...behind(job, this.plan, manager)];
    const hooks = manager.hooks.has('queueing') || manager.hooks.has('queued') ? { hooks: manager.hooks } : {};
    const encoded = jobs.map((one) => ({ ...one, connection: place.connection, ...hooks }));
    await new Sending(manager, place, { ...begins, callbacks }).send({ jobs: encoded, isLast: true });
  }
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

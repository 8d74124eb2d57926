/**
 * The jobs that follow an outcome: the next link of a chain, or the job to send when one has failed.
 *
 * Where the store can, it writes them together with the outcome, so that neither exists without the other. What that step
 * cannot reach (another connection, another slot of a cluster) travels in a carrier: a job that is written with the outcome
 * and sends the other job on. If a store cannot write anything with an outcome, both are sent before the outcome is written.
 *
 * Nothing here checks that the other connection is known or answers: a job that has succeeded must not fail because of that.
 */
import type { Milliseconds } from '../base/clock';
import { toError, wholeMessage } from '../base/exception-text';
import type { Application } from '../connections/application';
import type { FollowUp, Settlement } from '../connections/contract';
import { entryAt, type Onward } from '../connections/entries';
import type { FailedLink } from '../job/job-context';
import { chainedLink, glimpseCaught, withCause, type ChainLink } from '../payload/chain';
import { withBatch } from '../payload/payload-text';
import { withTies } from '../payload/ties';
import { carrierText } from '../dispatch/built-in/carry';
import { StartBatch } from '../dispatch/built-in/start-batch';
import { failed, storeNow } from './outcome';
import type { Outcome, RunningJob } from './running-job';

export type Following = Pick<Application, 'registry' | 'driver' | 'clock'>;

/**
 * The outcome, with the jobs that follow it. Never throws: a success whose followers cannot be sent becomes a failure, and
 * its retry continues the chain.
 */
export function followed(outcome: Outcome, job: RunningJob, application: Following): Outcome {
  try {
    return withFollowUps(outcome, job, application);
  } catch (error) {
    return outcome.settlement.outcome === 'failed' ? outcome : failed(job, toError(error));
  }
}

/** @throws E_MANAGER_CLOSED */
function withFollowUps(outcome: Outcome, job: RunningJob, application: Following): Outcome {
  const next = nextOf(outcome, job);
  if (job.tie === undefined) return withReached(next, outcome, job, application);
  const { settlement } = outcome;
  if (settlement.outcome === 'completed') {
    // The next link and added jobs join the batch before this job leaves it; they are in its store.
    const members = [...(next === undefined ? [] : [joined(next, job)]), ...job.added];
    return members.length === 0 ? outcome : withNext(members, outcome, job, application);
  }
  if (settlement.outcome !== 'failed') return outcome;
  const told = { ...outcome, settlement: { ...settlement, cause: causeOf(outcome, job) } };
  return withReached(next, told, job, application);
}

/** The outcome with its follower, in a carrier if the step that writes the outcome does not reach the follower's queue. */
function withReached(next: Onward | undefined, outcome: Outcome, job: RunningJob, application: Following): Outcome {
  if (next === undefined) return outcome;
  const { capabilities } = application.driver(job.connectionName);
  const goesAlong = capabilities.follows !== 'queue' || next.queue === job.queue;
  const isReached = next.connection === job.connectionName && goesAlong;
  // On a connection that runs jobs at once, there is no queue for a carrier to wait in.
  const isSent = isReached || !capabilities.reserve;
  return withNext([isSent ? next : carrierOf(next, job, application)], outcome, job, application);
}

function joined(next: Onward, job: RunningJob): Onward {
  const ties = { batch: { id: job.tie!.id, weight: job.links.length } };
  const jobs = job.envelope?.batchJobs;
  const payload = jobs === undefined ? next.entry.payload : withBatch(next.entry.payload, { jobs });
  return { ...next, entry: { ...next.entry, payload: withTies(payload, ties), ties } };
}

/**
 * The same outcome with its follower in a carrier, for a store that refused the follower in another queue: the carrier waits
 * until that queue takes it. Undefined if a carrier would change nothing.
 */
export function carriedOutcome(outcome: Outcome, job: RunningJob, application: Following): Outcome | undefined {
  const next = nextOf(outcome, job);
  // A carrier would count in the batch in place of its job, and leave the batch before the job joins.
  if (next === undefined || job.tie !== undefined) return undefined;
  if (next.connection !== job.connectionName || next.queue === job.queue) return undefined;
  return withNext([carrierOf(next, job, application)], outcome, job, application);
}

function withNext(next: readonly Onward[], outcome: Outcome, job: RunningJob, application: Following): Outcome {
  const { capabilities } = application.driver(job.connectionName);
  if (capabilities.follows === undefined || capabilities.follows === false) return { ...outcome, onward: next };
  const now = storeNow(job, application);
  const followUps = next.map((one) => followUpOf(one, now, capabilities.moments === true));
  return { ...outcome, settlement: { ...outcome.settlement, next: followUps } as Settlement };
}

function nextOf(outcome: Outcome, job: RunningJob): Onward | undefined {
  const { settlement } = outcome;
  if (settlement.outcome === 'completed') {
    // The usual case: allocate nothing. What follows a batch is sent by the batch.
    if (job.links.length === 0 || job.definition?.target === StartBatch) return undefined;
    const link = chainedLink({ links: job.links, caught: job.envelope?.chain.caught }, job.connectionName);
    return onwardOf(link, job, link.payload);
  }
  if (settlement.outcome !== 'failed') return undefined;
  // Poison is never parsed, and a broken text cannot be.
  const caught = job.envelope === undefined ? glimpseCaught(job.reservation.payload) : job.envelope.chain.caught;
  return caught && onwardOf(caught, job, withCause(caught.payload, causeOf(outcome, job)));
}

const causeOf = ({ error }: Outcome, { id, name }: RunningJob): FailedLink => ({
  id,
  name,
  message: wholeMessage(toError(error)),
});

function onwardOf(link: ChainLink, job: RunningJob, payload: string): Onward {
  const { connection = job.connectionName, queue, delay, dueAt, retryWithin } = link;
  return { connection, queue, entry: { payload, delay, dueAt }, retryWithin };
}

function followUpOf(next: Onward, now: Milliseconds, judges: boolean): FollowUp {
  const { queue, entry, retryWithin } = next;
  const asks = retryWithin !== undefined || (entry.dueAt !== undefined && !judges);
  return { queue, entry: asks ? entryAt(next, now, judges) : entry };
}

function carrierOf(next: Onward, { connectionName, queue }: RunningJob, { registry }: Following): Onward {
  return { connection: connectionName, queue, entry: { payload: carrierText(next, registry) } };
}

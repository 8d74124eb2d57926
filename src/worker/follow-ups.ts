/**
 * What follows an outcome: the next link of a chain, or what is sent when one has failed.
 *
 * It goes in with the outcome where the store can, so that neither is there without the other. What that step cannot reach
 * (another connection, another slot of a cluster) travels in a carrier, a job that goes in with the outcome and
 * sends the other one on. To a store that takes nothing with an outcome, either is sent before the outcome is written.
 *
 * Nothing here asks whether the other connection is known, or answers: a job that has succeeded must not fail by that.
 */
import type { Milliseconds } from '../base/clock';
import { errorMessage, toError } from '../base/exception-text';
import type { Application } from '../connections/application';
import type { FollowUp, Settlement } from '../connections/contract';
import { entryAt } from '../connections/due-entries';
import type { Onward } from '../connections/onward';
import { type Cause, chainedLink, type ChainLink, glimpseCaught, withCause } from '../payload/chain';
import { withTies } from '../payload/ties';
import { carrierText } from '../dispatch/built-in/carry';
import { StartBatch } from '../dispatch/built-in/start-batch';
import { failed, storeNow } from './outcome';
import type { Outcome, RunningJob } from './running-job';

export type Following = Pick<Application, 'registry' | 'driver' | 'clock'>;

/** The outcome, with what follows it. Never throws: a success whose followers cannot be sent is a failure, whose retry goes on. */
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
  if (job.tie !== undefined) return ofBatch(outcome, next, job, application);
  if (next === undefined) return outcome;
  const { capabilities, isDivided = false } = application.driver(job.connectionName);
  // Where jobs run at once there is no queue that a carrier could wait in.
  if (!capabilities.reserve) return { ...outcome, onward: [next] };
  const goesAlong = capabilities.follows !== true || !isDivided || next.queue === job.queue;
  const isReached = next.connection === job.connectionName && goesAlong;
  return sending([isReached ? next : carrierOf(next, job, application)], outcome, job, application);
}

/** The next link, and what the job adds, join before it leaves; they are in its store. What its failure sends need not be. */
function ofBatch(outcome: Outcome, next: Onward | undefined, job: RunningJob, application: Following): Outcome {
  const { outcome: end } = outcome.settlement;
  const { capabilities, isDivided = false } = application.driver(job.connectionName);
  if (end === 'completed') {
    const members = [...(next === undefined ? [] : [joined(next, job)]), ...job.added];
    return members.length === 0 ? outcome : sending(members, outcome, job, application);
  }
  if (end !== 'failed') return outcome;
  const told = { ...outcome, settlement: { ...outcome.settlement, cause: causeOf(outcome, job) } as Settlement };
  if (next === undefined) return told;
  const isReached = next.connection === job.connectionName && (!isDivided || next.queue === job.queue);
  if (!capabilities.reserve || isReached) return sending([next], told, job, application);
  return sending([carrierOf(next, job, application)], told, job, application);
}

function joined(next: Onward, job: RunningJob): Onward {
  const ties = { batch: { id: job.tie!.id, weight: job.links.length } };
  return { ...next, entry: { ...next.entry, payload: withTies(next.entry.payload, ties), ties } };
}

/**
 * The same outcome, where its store has refused it with what follows in another queue: in a carrier that waits until it is
 * taken there. Undefined: it would be no other.
 *
 * @throws E_MANAGER_CLOSED
 */
export function carriedOutcome(outcome: Outcome, job: RunningJob, application: Following): Outcome | undefined {
  const next = nextOf(outcome, job);
  // A carrier would count in the batch for what it carries, and leave it before that joins.
  if (next === undefined || job.tie !== undefined) return undefined;
  if (next.connection !== job.connectionName || next.queue === job.queue) return undefined;
  return sending([carrierOf(next, job, application)], outcome, job, application);
}

function sending(next: readonly Onward[], outcome: Outcome, job: RunningJob, application: Following): Outcome {
  const { capabilities } = application.driver(job.connectionName);
  if (capabilities.follows !== true) return { ...outcome, onward: next };
  const now = storeNow(job, application);
  const followUps = next.map((one) => followUpOf(one, now, capabilities.moments === true));
  return { ...outcome, settlement: { ...outcome.settlement, next: followUps } as Settlement };
}

function nextOf(outcome: Outcome, job: RunningJob): Onward | undefined {
  const { settlement } = outcome;
  if (settlement.outcome === 'completed') {
    // As nearly always: nothing is made for it. Behind a batch goes on what that sends.
    if (job.links.length === 0 || job.definition?.target === StartBatch) return undefined;
    const link = chainedLink({ links: job.links, caught: job.envelope?.chain.caught }, job.connectionName);
    return onwardOf(link, job, link.payload);
  }
  if (settlement.outcome !== 'failed') return undefined;
  // Poison is not parsed, and a text that cannot be is not read.
  const caught = job.envelope === undefined ? glimpseCaught(job.reservation.payload) : job.envelope.chain.caught;
  return caught && onwardOf(caught, job, withCause(caught.payload, causeOf(outcome, job)));
}

const causeOf = ({ error }: Outcome, { id, name }: RunningJob): Cause => ({ id, name, message: errorMessage(error) });

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

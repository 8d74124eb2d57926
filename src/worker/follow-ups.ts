/**
 * What follows an outcome: the next link of a chain, or what is sent when one has failed.
 *
 * It goes in with the outcome where the store can, so that neither is there without the other. What that step cannot reach
 * (another connection, another slot of a cluster) travels in a carrier, a job that goes in with the outcome and
 * sends the other one on. A store that can do neither is sent what follows before the outcome is written.
 */
import type { Application } from '../connections/application';
import type { Connection, FollowUp, Settlement } from '../connections/contract';
import { entryAt } from '../connections/due-entries';
import type { Onward } from '../connections/onward';
import { type Chain, type ChainLink, withCause, withChain } from '../payload/chain';
import { Carry } from './carry';
import { storeNow } from './outcome';
import type { Outcome, RunningJob } from './running-job';

export type Following = Pick<Application, 'links' | 'driver' | 'clock'>;

/** The outcome, with what follows it. @throws E_UNKNOWN_CONNECTION, PayloadTooLargeError */
export function withFollowUps(outcome: Outcome, job: RunningJob, application: Following): Outcome {
  const { settlement } = outcome;
  const next = nextOf(outcome, job);
  if (next === undefined) return outcome;
  const store = application.driver(job.connectionName);
  if (store.capabilities.follows !== true) return { ...outcome, onward: [next] };
  const followUp = isReached(next, job, store)
    ? inStore(next, job, store, application)
    : carried(next, job, application);
  return { ...outcome, settlement: { ...settlement, next: [followUp] } as Settlement };
}

function nextOf({ settlement, error }: Outcome, job: RunningJob): Onward | undefined {
  const caught = job.envelope?.chain.caught;
  if (settlement.outcome === 'completed') {
    if (job.links.length === 0) return undefined;
    const [link, ...links] = job.links as readonly [ChainLink, ...ChainLink[]];
    return onwardOf(link, job, withChain(link.payload, chainFor(link, { links, caught }, job)));
  }
  if (settlement.outcome !== 'failed' || caught === undefined) return undefined;
  const { id, name } = job;
  return onwardOf(caught, job, withCause(caught.payload, { id, name, message: error?.message ?? '' }));
}

/** Those that name no connection mean that of the job that carries them: elsewhere they would mean another. */
function chainFor({ connection }: ChainLink, chain: Chain, { connectionName }: RunningJob): Chain {
  if (connection === undefined || connection === connectionName) return chain;
  const named = (link: ChainLink): ChainLink => ({ ...link, connection: link.connection ?? connectionName });
  return { links: chain.links.map(named), caught: chain.caught && named(chain.caught) };
}

function onwardOf(link: ChainLink, job: RunningJob, payload: string): Onward {
  const { connection = job.connectionName, queue, delay, dueAt, retryWithin } = link;
  return { connection, queue, entry: { payload, delay, dueAt }, retryWithin };
}

function isReached(next: Onward, job: RunningJob, store: Connection): boolean {
  return next.connection === job.connectionName && (store.isDivided !== true || next.queue === job.queue);
}

function inStore(next: Onward, job: RunningJob, { capabilities }: Connection, application: Following): FollowUp {
  const judges = capabilities.moments === true;
  const asks = next.retryWithin !== undefined || (next.entry.dueAt !== undefined && !judges);
  const entry = asks ? entryAt(next, storeNow(job, application), judges) : next.entry;
  return { queue: next.queue, entry };
}

function carried(next: Onward, { connectionName, queue }: RunningJob, application: Following): FollowUp {
  const [carrier] = application.links([new Carry(next)], connectionName);
  return { queue, entry: { payload: carrier!.payload } };
}

/** What a job is connected with: who sent it, what follows it, and its batch. All of this is in its payload. */
import { OnqueueError } from '../../base/onqueue-error';
import type { Batch } from '../../dispatch/batch/batch';
import type { ChainedJob, FailedLink } from '../../job/job-context';
import type { FoundJob } from '../../operations/found-job';
import {
  CARRIER,
  type Chain,
  chainedJobOf,
  type ChainLink,
  NO_CHAIN,
  readCarried,
  readCause,
  readChain,
} from '../../payload/chain';
import { BATCH_FIELD, HANDLER_WITH_FOLLOWERS, OCCURRENCE_FIELD } from '../../payload/payload-text';
import { isRecord } from '../../payload/values';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { progressText, stateBadge } from '../parts/batch';
import { jobLink } from '../parts/links';
import { factList } from '../parts/table';
import { counted, moment } from '../parts/text';
import { readOr } from '../readings';
import type { PageContext } from '../view';
import { fieldsOf } from './story';

interface JobLinks {
  /** The jobs that follow it, in order. */
  readonly chain: readonly ChainedJob[];
  /** The job sent if this one, or one that follows, fails. */
  readonly caught: ChainedJob | undefined;
  /** The job whose failure sent this one. */
  readonly cause: FailedLink | undefined;
  readonly batch: { readonly id: string; readonly connection: string } | undefined;
  /** The batch that sent it as a callback. */
  readonly sender: { readonly id: string; readonly connection: string } | undefined;
  readonly schedule: { readonly name: string; readonly at: Date | undefined } | undefined;
}

export function linksOf(job: FoundJob): JobLinks {
  const { batch, connection } = job;
  const fields = fieldsOf(job) ?? {};
  const { links, caught } = chainOf(job, fields);
  const known = (link: ChainLink): ChainedJob => chainedJobOf(link, connection);
  return {
    chain: links.map(known),
    caught: caught && known(caught),
    cause: readCause(fields['cause']),
    batch: batch === undefined ? undefined : { id: batch, connection },
    sender: senderIn(fields[BATCH_FIELD]),
    schedule: scheduleIn(fields[OCCURRENCE_FIELD]),
  };
}

function chainOf({ name }: FoundJob, fields: Readonly<Record<string, unknown>>): Chain {
  try {
    if (name === CARRIER) return { links: readCarried(fields['data']) };
    return fields['job'] === HANDLER_WITH_FOLLOWERS ? readChain(fields) : NO_CHAIN;
  } catch {
    // A worker will report what is wrong with it.
    return NO_CHAIN;
  }
}

function senderIn(batch: unknown): JobLinks['sender'] {
  if (!isRecord(batch)) return undefined;
  const { id, connection } = batch;
  return typeof id === 'string' && typeof connection === 'string' ? { id, connection } : undefined;
}

function scheduleIn(occurrence: unknown): JobLinks['schedule'] {
  if (!isRecord(occurrence) || typeof occurrence['schedule'] !== 'string') return undefined;
  const moment = new Date(Number(occurrence['at']) * 1000);
  return { name: occurrence['schedule'], at: Number.isNaN(moment.getTime()) ? undefined : moment };
}

/** How many jobs of a chain are shown. */
const MOST = 50;

/** The current state of its batch. Undefined if it has none, or nothing is known of it. */
export async function batchOf({ batch }: JobLinks, { manager, lookout }: PageContext): Promise<Batch | undefined> {
  if (batch === undefined) return undefined;
  const { id, connection } = batch;
  const subject = `batch ${JSON.stringify([connection, id])}`;
  const read = () => lookout.see(subject, () => manager.batches.get(id, { connection }));
  // A job from elsewhere may name a connection that keeps no batches.
  return readOr(read, undefined, (error) => error instanceof OnqueueError);
}

/** Undefined if it is connected with nothing. @param known the batch that it belongs to */
export function linksPart(
  links: JobLinks,
  { state, connection }: FoundJob,
  known: Batch | undefined,
  { now }: PageContext,
): Html | undefined {
  const { chain, caught, cause, batch, sender, schedule } = links;
  const hasFailed = state === 'failed';
  const left = chain.length - MOST;
  const shown = factList(
    [
      [
        'Sent by',
        schedule &&
          html`the schedule <a href="${address('schedules')}"><bdi>${schedule.name}</bdi></a>${schedule.at && html`, for ${moment(schedule.at, now)}`}`,
      ],
      ['Sent because', cause && html`${jobLink({ ...cause, connection })} failed: <bdi>${cause.message}</bdi>`],
      ['Sent by', sender && batchLink(sender)],
      [
        'Belongs to',
        batch && html`${batchLink(batch, known?.name)}${known && html` ${stateBadge(known)} ${progressText(known)}`}`,
      ],
      [
        hasFailed ? 'Followed, once it is retried and has completed, by' : 'Followed by',
        chain.length > 0 &&
          html`<ol class="chain">
            ${chain.slice(0, MOST).map((link) => html`<li>${linkText(link)}</li>`)}${left > 0 && html`<li class="soft">… and ${counted(left, 'more job')}</li>`}
          </ol>`,
      ],
      hasFailed
        ? ['Sent by its failure', caught && html`${jobLink(caught)} ${placeText(caught)}`]
        : ['If one fails', caught && linkText(caught)],
    ],
    true,
  );
  return shown && html`<h2>Related jobs</h2>${shown}`;
}

const batchLink = ({ id, connection }: { readonly id: string; readonly connection: string }, name = ''): Html =>
  html`<a href="${address('batch', { connection, id })}">batch ${name === '' ? html`<bdi class="mono">${id}</bdi>` : html`<bdi>${name}</bdi>`}</a>`;

/** It waits in a payload, not in a queue, so its page would know nothing about it. */
const linkText = (link: ChainedJob): Html => html`<bdi>${link.name}</bdi> ${placeText(link, link.id)}`;

const placeText = ({ queue, connection }: ChainedJob, id?: string): Html =>
  html`<span class="soft">in <bdi>${queue}</bdi> of <bdi>${connection}</bdi>${id !== undefined && html`, <bdi class="mono">${id}</bdi>`}</span>`;

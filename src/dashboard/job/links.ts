/** What a job is connected with: who sent it, what follows it, and its batch. All of this is in its payload. */
import { OnqueueError } from '../../base/onqueue-error';
import type { Batch } from '../../dispatch/batch/batch';
import type { ChainedJob, FailedLink } from '../../job/job-context';
import { chainOf, type FoundJob } from '../../operations/found-job';
import { chainedJobOf, type ChainLink, readCause } from '../../payload/chain';
import { BATCH_FIELD, OCCURRENCE_FIELD } from '../../payload/payload-text';
import { isRecord } from '../../payload/values';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { progressText, stateBadge } from '../parts/batch';
import { type Box, flow } from '../parts/flow';
import { jobLink } from '../parts/links';
import { factList } from '../parts/table';
import { counted, moment } from '../parts/text';
import { readOr } from '../readings';
import type { PageContext } from '../view';
import { toneOf } from './state';
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
  const { links, caught } = chainOf(job);
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
  job: FoundJob,
  known: Batch | undefined,
  { now }: PageContext,
): Html | undefined {
  const { cause, batch, sender, schedule } = links;
  const shown = factList(
    [
      [
        'Sent by',
        schedule &&
          html`the schedule <a href="${address('schedules')}"><bdi>${schedule.name}</bdi></a>${schedule.at && html`, for ${moment(schedule.at, now)}`}`,
      ],
      [
        'Sent because',
        cause && html`${jobLink({ ...cause, connection: job.connection })} failed: <bdi>${cause.message}</bdi>`,
      ],
      ['Sent by', sender && batchLink(sender)],
      [
        'Belongs to',
        batch && html`${batchLink(batch, known?.name)}${known && html` ${stateBadge(known)} ${progressText(known)}`}`,
      ],
    ],
    true,
  );
  const drawn = picture(links, job);
  return shown || drawn ? html`<h2>Related jobs</h2>${shown}${drawn}` : undefined;
}

/** Its chain from this job on, and the job that a failure sends. Undefined if there is none. */
function picture({ chain, caught }: JobLinks, { state, name }: FoundJob): Html | undefined {
  if (chain.length === 0 && caught === undefined) return undefined;
  const hasFailed = state === 'failed';
  const note = hasFailed ? 'once the job before it is retried and has completed' : undefined;
  const left = chain.length - MOST;
  const boxes: Box[] = [
    { job: html`<strong><bdi>${name}</bdi></strong>`, note: 'this job', state, tone: toneOf(state) },
    ...chain
      .slice(0, MOST)
      .map((link, place) => ({ job: linkText(link), note: place === 0 && note, state: 'not yet' })),
    ...(left > 0 ? [{ job: html`${counted(left, 'more job')}`, state: 'not yet' }] : []),
  ];
  if (caught !== undefined)
    boxes.push({
      job: hasFailed ? html`${jobLink(caught)} ${placeText(caught)}` : linkText(caught),
      note: hasFailed ? 'sent by its failure' : 'if one fails',
      state: hasFailed ? 'sent' : 'not yet',
      tone: hasFailed ? 'good' : undefined,
      isAside: true,
    });
  return flow('The chain, in order', boxes);
}

const batchLink = ({ id, connection }: { readonly id: string; readonly connection: string }, name = ''): Html =>
  html`<a href="${address('batch', { connection, id })}">batch ${name === '' ? html`<bdi class="mono">${id}</bdi>` : html`<bdi>${name}</bdi>`}</a>`;

/** It waits in a payload, not in a queue, so its page would know nothing about it. */
const linkText = (link: ChainedJob): Html => html`<bdi>${link.name}</bdi> ${placeText(link, link.id)}`;

const placeText = ({ queue, connection }: ChainedJob, id?: string): Html =>
  html`<span class="soft">in <bdi>${queue}</bdi> of <bdi>${connection}</bdi>${id !== undefined && html`, <bdi class="mono">${id}</bdi>`}</span>`;

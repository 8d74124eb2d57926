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
    chain: job.followedBy ?? links.map(known),
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
async function batchOf({ batch }: JobLinks, { manager, lookout }: PageContext): Promise<Batch | undefined> {
  if (batch === undefined) return undefined;
  const { id, connection } = batch;
  const subject = `batch ${JSON.stringify([connection, id])}`;
  const read = () => lookout.see(subject, () => manager.batches.get(id, { connection }));
  // A job from elsewhere may name a connection that keeps no batches.
  return readOr(read, undefined, (error) => error instanceof OnqueueError);
}

/** How many of the jobs that followed one are looked for. */
const LOOKED_FOR = 10;

/** How far the chain of a completed job has come: the jobs that followed it, up to the first that has not completed. */
async function followers(
  { followedBy = [] }: FoundJob,
  { manager, lookout }: PageContext,
): Promise<readonly FoundJob[]> {
  const found: FoundJob[] = [];
  for (const { id, connection, queue } of followedBy.slice(0, LOOKED_FOR)) {
    const find = () => manager.connection(connection).find(id, { queue });
    const read = () => lookout.see(JSON.stringify(['follower', connection, queue, id]), find);
    // It may be on a connection that this process does not know, or that cannot look for jobs.
    const job = await readOr(read, undefined, (error) => error instanceof OnqueueError);
    if (job !== undefined) found.push(job);
    if (job?.state !== 'completed') break;
  }
  return found;
}

/** Undefined if it is connected with nothing. */
export async function linksPart(links: JobLinks, job: FoundJob, context: PageContext): Promise<Html | undefined> {
  const { cause, batch, sender, schedule } = links;
  const { now } = context;
  const known = await batchOf(links, context);
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
  const drawn = picture(links, job, await followers(job, context));
  return shown || drawn ? html`<h2>Related jobs</h2>${shown}${drawn}` : undefined;
}

/** Its chain from this job on, and the job that a failure sends. Undefined if there is none. @param known what is known of the first that follow it */
function picture({ chain, caught }: JobLinks, { state, name }: FoundJob, known: readonly FoundJob[]): Html | undefined {
  if (chain.length === 0 && caught === undefined) return undefined;
  const hasFailed = state === 'failed';
  const note = hasFailed ? 'once the job before it is retried and has completed' : undefined;
  const left = chain.length - MOST;
  const boxes: Box[] = [
    { job: html`<strong><bdi>${name}</bdi></strong>`, note: 'this job', state, tone: toneOf(state) },
    ...chain.slice(0, MOST).map((link, place) => followerBox(link, known[place], place === 0 && note)),
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

// Until it is sent it waits in a payload, not in a queue, so its page would know nothing about it.
function followerBox(link: ChainedJob, known: FoundJob | undefined, note: Box['note']): Box {
  if (known === undefined) return { job: linkText(link), note, state: 'not yet' };
  const { state } = known;
  return {
    job: html`${jobLink(link)} ${placeText(link)}`,
    state: state === 'unknown' ? 'ended' : state,
    tone: toneOf(state),
  };
}

const batchLink = ({ id, connection }: { readonly id: string; readonly connection: string }, name = ''): Html =>
  html`<a href="${address('batch', { connection, id })}">batch ${name === '' ? html`<bdi class="mono">${id}</bdi>` : html`<bdi>${name}</bdi>`}</a>`;

const linkText = (link: ChainedJob): Html => html`<bdi>${link.name}</bdi> ${placeText(link, link.id)}`;

const placeText = ({ queue, connection }: ChainedJob, id?: string): Html =>
  html`<span class="soft">in <bdi>${queue}</bdi> of <bdi>${connection}</bdi>${id !== undefined && html`, <bdi class="mono">${id}</bdi>`}</span>`;

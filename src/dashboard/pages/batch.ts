/** One batch: its progress, the jobs that it sends, and its failed jobs. */
import { spanText } from '../../base/span';
import { errorGroups } from '../../application/failed/error-groups';
import { matching } from '../../application/failed/failed-filter';
import { type Batch, batchDocument } from '../../dispatch/batch/batch';
import { type BatchCallbackJob, callbackJobs } from '../../dispatch/batch/members';
import { address } from '../addresses';
import { neededField } from '../errors';
import { html, type Html } from '../html';
import { batchButtons, progressBar, stateBadge, stateText } from '../parts/batch';
import { type FailedLook, failureTable, lookAtFailed } from '../parts/failures';
import { type Box, flow } from '../parts/flow';
import { jobLink, queueLink } from '../parts/links';
import { factList, idFact, keyNumbers } from '../parts/table';
import { counted, moment, numberText } from '../parts/text';
import type { Page, PageContext, View } from '../view';

const TRAIL: View['trail'] = [['Batches', address('batches')]];

export const batch: Page = async (context) => {
  const { manager, lookout, query } = context;
  const id = query.get('id')?.trim() ?? '';
  if (id === '') throw neededField('id');
  const connection = query.get('connection') ?? manager.defaultConnection;
  const story = await lookout.see(JSON.stringify(['batch', connection, id]), async () => {
    const found = await manager.batches.get(id, { connection });
    if (found === undefined) return undefined;
    const kept = await manager.driver(connection).batches?.callbacks(id);
    const { total, pending } = found;
    return {
      found,
      callbacks: kept === undefined ? [] : callbackJobs(kept, connection, total - pending),
      hasEnded: kept?.sent.includes('finally') === true,
    };
  });
  if (story === undefined) return unknownBatch(id, connection);
  const { found, callbacks, hasEnded } = story;
  const failures = found.failed > 0 ? await lookAtFailed(context) : undefined;
  return {
    title: found.name === '' ? 'Batch' : found.name,
    trail: TRAIL,
    parts: {
      'batch-state': statePart(found, hasEnded, context),
      'batch-callbacks': picture(found, callbacks),
      'batch-failures': failures && failedPart(found, failures, context),
    },
    data: { ...batchDocument(found), callbacks },
  };
};

function unknownBatch(id: string, connection: string): View {
  const failed = html`<a href="${address('failed', { connection, batch: id })}">among the failed jobs</a>`;
  return {
    title: 'Unknown batch',
    trail: TRAIL,
    status: 404,
    parts: {
      'batch-unknown': html`<p><bdi>${connection}</bdi> has no batch <bdi class="mono">${id}</bdi>.</p>
        <p class="soft">
          Finished batches are kept for a day: it may have been forgotten, or be on another connection. Look among
          <a href="${address('batches')}">those that are kept</a>. Its failed jobs stay ${failed} until they are
          retried or forgotten.
        </p>`,
    },
    data: { id, connection, state: 'unknown' },
  };
}

function statePart(found: Batch, hasEnded: boolean, context: PageContext): Html {
  return html`<p class="state">${stateBadge(found)} ${stateText(found, hasEnded, context)}</p>
    ${progressBar(found)}
    <div class="with-actions">${numbersOf(found)}<div class="actions">${batchButtons(found, context)}</div></div>
    ${facts(found, context)}`;
}

function numbersOf({ id, connection, total, pending, completed, failed, skipped }: Batch): Html {
  return keyNumbers([
    { label: 'Jobs', value: total },
    { label: 'Pending', value: pending },
    { label: 'Completed', value: completed, tone: completed > 0 && 'good' },
    {
      label: 'Failed',
      value: failed,
      tone: failed > 0 && 'bad',
      href: failed > 0 && address('failed', { connection, batch: id }),
    },
    { label: 'Skipped', value: skipped, tone: skipped > 0 && 'warn' },
  ]);
}

function facts(found: Batch, { now }: PageContext): Html | undefined {
  const { id, connection, createdAt, cancelledAt, finishedAt, allowsFailures } = found;
  return factList([
    idFact(id),
    ['Connection', html`<bdi>${connection}</bdi>`],
    ['Created', moment(createdAt, now)],
    ['Cancelled', cancelledAt && moment(cancelledAt, now)],
    ['Finished', finishedAt && moment(finishedAt, now)],
    ['Took', finishedAt && spanText(finishedAt.getTime() - createdAt.getTime())],
    ['If a job fails', allowsFailures ? 'the others go on' : 'the batch is cancelled'],
  ]);
}

/** Grouped by error: a batch whose mail server is away has one cause, not a thousand. */
function failedPart({ id, connection }: Batch, look: FailedLook, context: PageContext): Html {
  const choice = { connection, batch: id };
  const groups = errorGroups(look.jobs.filter(matching(choice, context.now)));
  const all = html`<a href="${address('failed', choice)}">All failed jobs of this batch</a>`;
  if (groups.length > 0)
    return html`${failureTable('Failed jobs', groups, context, { choice })}<p class="pages">${all}</p>`;
  return html`<h2>Failed jobs</h2><p class="empty">${
    look.isCut
      ? html`None of the newest ${numberText(look.jobs.length)} failed jobs belongs to this batch. ${all}`
      : 'Its failed jobs were forgotten; only their number is kept.'
  }</p>`;
}

/** Its jobs, and those that it sends. Undefined if it sends none. */
function picture(batch: Batch, callbacks: readonly BatchCallbackJob[]): Html | undefined {
  if (callbacks.length === 0) return undefined;
  const { total, pending, failed, isFinished } = batch;
  const own: Box = {
    job: html`<strong>${counted(total, 'job')}</strong>`,
    state: isFinished ? 'ended' : pending === total ? 'waiting' : `${numberText(total - pending)} ended`,
    tone: failed > 0 ? 'bad' : isFinished ? 'good' : 'accent',
  };
  return html`<h2>What it sends</h2>${flow('What this batch does, in order', [own, ...callbacks.map((callback) => boxOf(batch, callback))])}`;
}

function boxOf(batch: Batch, callback: BatchCallbackJob): Box {
  const { connection, on, isSent } = callback;
  const reason = isSent ? undefined : whyNot(batch, callback);
  const shown = jobLink({ ...callback, id: isSent ? sentId(batch, callback) : undefined });
  return {
    job: html`${shown} <span class="soft">in ${queueLink(callback)}${connection !== batch.connection && html` of <bdi>${connection}</bdi>`}</span>`,
    note: html`${on !== 'next' && html`<code>${on}</code> `}${whenOf(batch, callback)}${reason !== undefined && `: ${reason}`}`,
    state: isSent ? 'sent' : reason === undefined ? 'not yet' : 'not sent',
    tone: isSent ? 'good' : undefined,
    isAside: on === 'catch',
  };
}

/** Each progress callback has an id of its own; this is the latest. */
function sentId({ total, pending }: Batch, { id, on, every = 1 }: BatchCallbackJob): string {
  return on === 'progress' ? `${id}-${Math.floor((total - pending) / every) * every}` : id;
}

function whenOf({ allowsFailures }: Batch, { on, every = 1 }: BatchCallbackJob): string {
  if (on === 'progress') return `each time ${numberText(every)} more have ended`;
  if (on === 'catch') return 'when the first has failed';
  if (on === 'finally') return 'when none is left';
  if (on === 'then') return 'when all have completed';
  return `next in its chain, when ${allowsFailures ? 'none is left' : 'all have completed'}`;
}

/** Undefined if it may still be sent. */
function whyNot(
  { allowsFailures, failed, skipped, isCancelled, isFinished }: Batch,
  { on }: BatchCallbackJob,
): string | undefined {
  if (on === 'progress' || on === 'finally') return undefined;
  if (on === 'catch') return isFinished ? 'none has failed' : undefined;
  if (on === 'next' && allowsFailures) return isCancelled ? 'it was cancelled' : undefined;
  if (failed > 0) {
    const lost = `${counted(failed, 'has', 'have')} failed`;
    if (skipped === 0) return `${lost}; it is sent once they are retried and all have completed`;
    // Jobs behind a failed one come back with it.
    return `${lost}, and ${counted(skipped, 'was', 'were')} skipped; it is only sent if all of them complete after all`;
  }
  if (skipped > 0) return `${counted(skipped, 'was', 'were')} skipped`;
  return isCancelled ? 'it was cancelled' : undefined;
}

/** One batch: its progress, its failed jobs, and what comes next. */
import { batchDocument, type Batch } from '../../dispatch/batch/batch';
import { callbackJobs, type BatchCallbackJob } from '../../dispatch/batch/members';
import { address } from '../addresses';
import { failedPart, failuresOf } from '../batch/batch-failures';
import { batchButtons, progressBar, stateBadge, stateText } from '../batch/batch-state';
import { callbacksPart, comingText } from '../batch/callbacks-part';
import { neededField } from '../errors';
import { html, type Html } from '../html';
import { factList, idFact } from '../parts/facts';
import { keyNumbers } from '../parts/key-numbers';
import { moment, spanText } from '../parts/time';
import type { Page, PageContext, View } from '../view';

export const batch: Page = async (context) => {
  const { manager, lookout, query } = context;
  const id = query.get('id')?.trim() ?? '';
  if (id === '') throw neededField('id');
  const connection = query.get('connection') ?? manager.defaultConnection;
  const story = await lookout.see(JSON.stringify(['batch', connection, id]), async () => {
    const found = await manager.batches.get(id, { connection });
    if (found === undefined) return undefined;
    const [failures, kept] = await Promise.all([
      failuresOf(found, context),
      manager.driver(connection).batches?.callbacks(id),
    ]);
    const { total, pending } = found;
    return {
      found,
      failures,
      callbacks: kept === undefined ? [] : callbackJobs(kept, connection, total - pending),
      hasEnded: kept?.sent.includes('finally') === true,
    };
  });
  if (story === undefined) return unknownBatch(id, connection);
  const { found, failures, callbacks, hasEnded } = story;
  return {
    title: found.name === '' ? 'Batch' : found.name,
    parts: {
      'batch-state': statePart(found, callbacks, hasEnded, context),
      'batch-callbacks': callbacksPart(found, callbacks),
      'batch-failures': failedPart(found, failures, context),
    },
    data: { ...batchDocument(found), callbacks, failures: failures?.jobs },
  };
};

function unknownBatch(id: string, connection: string): View {
  const failed = html`<a href="${address('failed', { connection, batch: id })}">among the failed jobs</a>`;
  return {
    title: 'Unknown batch',
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

function statePart(
  found: Batch,
  callbacks: readonly BatchCallbackJob[],
  hasEnded: boolean,
  context: PageContext,
): Html {
  return html`<p class="state">${stateBadge(found)} ${stateText(found, hasEnded, context)} ${comingText(found, callbacks)}</p>
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

/** What can be done with a batch. */
import { retryIncomplete } from '../../application/failed/errors';
import { redact } from '../../base/redact';
import type { Batch } from '../../dispatch/batch/batch';
import { address } from '../addresses';
import { html } from '../html';
import { counted, numberText } from '../parts/text';
import { type Action, type ActionContext, fieldOf, type Notice } from './action';

/** `batch`: undefined if it is not known. */
async function batchIn(form: URLSearchParams, { manager }: ActionContext) {
  const [connection, id] = [fieldOf(form, 'connection'), fieldOf(form, 'id')];
  return { connection, id, batch: await manager.batches.get(id, { connection }) };
}

export const BATCH_ACTIONS: Readonly<Record<string, Action>> = {
  'cancel-batch': {
    async ask(form, context) {
      const { connection, id, batch } = await batchIn(form, context);
      return {
        title: 'Cancel this batch?',
        text: html`<p><bdi>${batch?.name}</bdi> <bdi class="mono">${id}</bdi> of <bdi>${connection}</bdi>${batch && `, with ${counted(batch.pending, 'job')} left of ${numberText(batch.total)}`}</p>
          <p>Waiting jobs are skipped; running jobs go on. Its <code>finally</code> job is sent when none is left; its <code>then</code> job is not.</p>`,
        button: 'Cancel the batch',
      };
    },
    async run(form, context) {
      const { connection, id, batch } = await batchIn(form, context);
      if (batch === undefined) return unknown(id);
      const isNew = await context.manager.batches.cancel(id, { connection });
      if (isNew)
        return { text: `${titleOf(batch)} is cancelled: its waiting jobs are skipped.`, link: pageOf(batch, form) };
      return { text: `${titleOf(batch)} ${batch.isCancelled ? 'was already cancelled' : 'has finished'}.` };
    },
  },
  'retry-batch': {
    async run(form, context) {
      const { connection, id, batch } = await batchIn(form, context);
      if (batch === undefined) return unknown(id);
      try {
        const retried = await batch.retryFailed();
        const { skipped = 0 } = (await context.manager.batches.get(id, { connection })) ?? {};
        return { text: retriedText(batch, retried, skipped), link: pageOf(batch, form) };
      } catch (error) {
        if (!retryIncomplete.is(error)) throw error;
        // Some jobs were sent back; the others can be seen on the batch's page.
        return { text: `${titleOf(batch)}: ${redact(error.message)}`, link: pageOf(batch, form) };
      }
    },
  },
};

function retriedText(batch: Batch, retried: number, skipped: number): string {
  if (retried === 0) return `${titleOf(batch)} has no failed jobs to send back.`;
  const text = `${titleOf(batch)} goes on: ${counted(retried, 'failed job')} went back, with all their tries.`;
  if (skipped === 0) return text;
  return `${text} Its ${counted(skipped, 'skipped job')} will not run, so its then() job will not be sent.`;
}

const unknown = (id: string): Notice => ({
  text: `There is no batch ${id} any more: finished batches are kept for a day.`,
  link: { address: address('batches'), label: 'Show the others' },
});

/** Nothing if the order came from that page. */
function pageOf({ connection, id }: Batch, form: URLSearchParams): Notice['link'] {
  const page = address('batch', { connection, id });
  return form.get('back') === page ? undefined : { address: page, label: 'Show it' };
}

const titleOf = ({ name, id }: Batch): string => `The batch ${name || id}`;

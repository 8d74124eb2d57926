/** What can be done with a batch. */
import { redact } from '../../base/redact';
import { retryIncomplete } from '../../application/failed/errors';
import type { Batch } from '../../dispatch/batch/batch';
import { address } from '../addresses';
import { html } from '../html';
import { counted, numberText } from '../parts/number';
import type { Action, ActionContext } from './actions';
import { fieldOf } from './form-fields';
import type { Notice } from './notice';

interface Wanted {
  readonly connection: string;
  readonly id: string;
  /** Undefined: it is not known. */
  readonly batch: Batch | undefined;
}

async function batchIn(form: URLSearchParams, { manager }: ActionContext): Promise<Wanted> {
  const [connection, id] = [fieldOf(form, 'connection'), fieldOf(form, 'id')];
  return { connection, id, batch: await manager.batches.get(id, { connection }) };
}

export const cancelBatch: Action = {
  async ask(form, context) {
    const { connection, id, batch } = await batchIn(form, context);
    return {
      title: 'Cancel this batch?',
      text: html`<p><bdi>${batch?.name}</bdi> <bdi class="mono">${id}</bdi> of <bdi>${connection}</bdi>${batch && `, with ${counted(batch.pending, 'job')} left of ${numberText(batch.total)}`}</p>
        <p>Jobs that wait are skipped; those that run go on. What it sends when none is left, by <code>finally</code>, is sent; what it sends by <code>then</code> is not.</p>`,
      button: 'Cancel the batch',
    };
  },
  async run(form, context) {
    const { connection, id, batch } = await batchIn(form, context);
    if (batch === undefined) return unknown(id);
    const isNew = await context.manager.batches.cancel(id, { connection });
    if (isNew)
      return { text: `${titleOf(batch)} is cancelled: its jobs that wait are skipped.`, link: pageOf(batch, form) };
    return { text: `${titleOf(batch)} ${batch.isCancelled ? 'was cancelled before' : 'has finished'}.` };
  },
};

export const retryBatch: Action = {
  async run(form, context) {
    const { connection, id, batch } = await batchIn(form, context);
    if (batch === undefined) return unknown(id);
    try {
      const retried = await batch.retryFailed();
      const { skipped = 0 } = (await context.manager.batches.get(id, { connection })) ?? {};
      return { text: retriedText(batch, retried, skipped), link: pageOf(batch, form) };
    } catch (error) {
      if (!retryIncomplete.is(error)) throw error;
      // Some went back, and their batch is where to look at the others.
      return { text: `${titleOf(batch)}: ${redact(error.message)}`, link: pageOf(batch, form) };
    }
  },
};

function retriedText(batch: Batch, retried: number, skipped: number): string {
  if (retried === 0) return `${titleOf(batch)} has no failed jobs that could go back.`;
  const text = `${titleOf(batch)} goes on: ${counted(retried, 'failed job')} went back, with all tries.`;
  if (skipped === 0) return text;
  return `${text} Its ${counted(skipped, 'skipped job')} ${skipped === 1 ? 'is' : 'are'} not run, so what then() has is not sent.`;
}

const unknown = (id: string): Notice => ({
  text: `There is no batch ${id} any more: finished ones are kept for a day.`,
  link: { address: address('batches'), label: 'Look at the others' },
});

/** Nothing where the order comes from there. */
function pageOf({ connection, id }: Batch, form: URLSearchParams): Notice['link'] {
  const page = address('batch', { connection, id });
  return form.get('back') === page ? undefined : { address: page, label: 'Look at it' };
}

const titleOf = ({ name, id }: Batch): string => `The batch ${name || id}`;

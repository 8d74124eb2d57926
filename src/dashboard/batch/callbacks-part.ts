/** The jobs that a batch sends when something happens to it, and whether it has sent them. */
import type { Batch } from '../../dispatch/batch/batch';
import type { BatchCallbackJob } from '../../dispatch/batch/members';
import { html, type Html } from '../html';
import { jobLink, queueLink } from '../parts/links';
import { counted, numberText } from '../parts/number';
import { table } from '../parts/table';

/** Undefined if it sends none. */
export function callbacksPart(batch: Batch, callbacks: readonly BatchCallbackJob[]): Html | undefined {
  if (callbacks.length === 0) return undefined;
  return table({
    caption: 'What it sends',
    columns: ['Job', 'When', 'State'],
    rows: callbacks.map((callback) => callbackRow(batch, callback)),
  });
}

/** Which job will be sent next, as things are. Nothing if none. */
export function comingText(batch: Batch, callbacks: readonly BatchCallbackJob[]): Html | undefined {
  const open = callbacks.filter((callback) => !callback.isSent && whyNot(batch, callback) === undefined);
  const coming = open.find(({ on }) => on === 'then') ?? open.find(({ on }) => on === 'next' || on === 'finally');
  return coming && html`<bdi>${coming.name}</bdi> is sent ${whenOf(batch, coming)}.`;
}

function callbackRow(batch: Batch, callback: BatchCallbackJob): Html {
  const { connection, on, isSent } = callback;
  const reason = isSent ? undefined : whyNot(batch, callback);
  return html`<tr data-key="${callback.id}"><th scope="row">${jobLink({ ...callback, id: isSent ? sentId(batch, callback) : undefined })}<br><span class="soft">in ${queueLink(callback)}${connection !== batch.connection && html` of <bdi>${connection}</bdi>`}</span></th>
<td>${on !== 'next' && html`<code>${on}</code> `}<span class="soft">${whenOf(batch, callback)}</span></td>
<td>${isSent ? html`<span class="badge good">sent</span>` : html`<span class="badge">${reason === undefined ? 'not yet' : 'not sent'}</span>`}${reason !== undefined && html` <span class="soft">${reason}</span>`}</td></tr>`;
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

/** The state of a batch, in a word, in sentences and as a picture, and what can be done about it. */
import { spanText } from '../../base/span';
import { type Batch, stateOf } from '../../dispatch/batch/batch';
import { html, type Html } from '../html';
import type { PageContext } from '../view';
import { actionForm } from './links';
import { counted, numberText } from './text';

/** Whether its first failure has cancelled it. */
const hasFailed = ({ isCancelled, allowsFailures, failed }: Batch): boolean =>
  isCancelled && !allowsFailures && failed > 0;

export function stateBadge(batch: Batch): Html {
  const state = stateOf(batch);
  if (hasFailed(batch)) return html`<span class="badge bad">failed</span>`;
  if (state === 'cancelled') return html`<span class="badge warn">cancelled</span>`;
  if (state === 'finished')
    return html`<span class="badge ${batch.completed === batch.total ? 'good' : 'warn'}">finished</span>`;
  return html`<span class="badge accent">${state === 'open' ? 'being sent' : 'running'}</span>`;
}

/**
 * What happened to its jobs, and what will happen to the rest. @param hasEnded whether it had ended before some jobs were retried
 */
export function stateText(batch: Batch, hasEnded: boolean, context: PageContext): string {
  const { total, pending, completed, failed, skipped, isCancelled, isFinished, isOpen } = batch;
  const ended = `${numberText(total - pending)} of ${numberText(total)} have ended`;
  const failures =
    failed === 0 ? '' : ` ${counted(failed, 'has', 'have')} failed, which the batch allows: the others go on.`;
  if (isCancelled) return `${cancelText(batch)}${restText(batch)}`;
  if (isOpen) return `${ended} so far. More jobs are still being added.${failures}`;
  if (!isFinished)
    return `${ended}, and ${numberText(pending)} are waiting or running.${failures}${hasEnded ? '' : paceText(batch, context)}`;
  if (pending > 0) return `It had ended, and has got ${counted(pending, 'more job')} since.`;
  if (total === 0) return 'It had no jobs.';
  if (completed === total)
    return total === 1 ? 'Its only job has completed.' : `All ${numberText(total)} have completed.`;
  const lost = [
    failed > 0 && `${numberText(failed)} failed`,
    skipped > 0 && `${counted(skipped, 'was', 'were')} skipped`,
  ].filter(Boolean);
  return `None of its ${counted(total, 'job')} is left: ${numberText(completed)} completed, ${lost.join(', ')}.`;
}

function cancelText(batch: Batch): string {
  const { failed } = batch;
  if (!hasFailed(batch)) return 'It was cancelled.';
  return failed === 1
    ? 'One of its jobs has failed, which cancelled it.'
    : `${numberText(failed)} of its jobs have failed, the first of which cancelled it.`;
}

function restText({ pending, completed, skipped }: Batch): string {
  if (pending > 0)
    return ` Of the ${numberText(pending)} that are left, running jobs go on, and waiting ones are skipped as workers come to them.`;
  return ` None is left: ${numberText(completed)} completed, and ${counted(skipped, 'was', 'were')} skipped.`;
}

/** At the average rate so far. */
function paceText({ total, pending, createdAt }: Batch, { now }: PageContext): string {
  const [ended, span] = [total - pending, now - createdAt.getTime()];
  // The store's clock may be ahead.
  if (ended === 0 || span <= 0) return '';
  return ` At this rate it will take another ${spanText((span / ended) * pending)}.`;
}

/** Hidden from screen readers: the words say the same. */
export function progressBar(batch: Batch): Html {
  const { total, completed, failed, skipped } = batch;
  let from = 0;
  const piece = (kind: string, count: number): Html | undefined => {
    if (count === 0) return undefined;
    // Even one of a million must be visible.
    const [x, width] = [from, Math.max((count / total) * 100, 1)];
    from += width;
    return html`<rect class="${kind}" x="${x}" width="${width}" height="1" />`;
  };
  return html`<svg class="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
    ${piece('completed', completed)}${piece('failed', failed)}${piece('skipped', skipped)}
  </svg>`;
}

/** `312 of 500, 4 failed, 1 skipped` */
export function progressText({ total, pending, failed, skipped }: Batch): Html {
  if (total === 0) return html`<span class="soft">no jobs</span>`;
  return html`${numberText(total - pending)} of ${numberText(total)}${failed > 0 && html`, <span class="bad">${numberText(failed)} failed</span>`}${skipped > 0 && html`<span class="soft">, ${numberText(skipped)} skipped</span>`}`;
}

/** @param subject for viewers who do not see where the buttons are */
export function batchButtons(
  batch: Batch,
  context: PageContext,
  subject?: string,
): readonly (Html | undefined | false)[] {
  const { id, connection, failed, isCancelled, isFinished } = batch;
  const of = { fields: { connection, id }, subject };
  return [
    failed > 0 && actionForm({ action: 'retry-batch', label: 'Retry failed', ...of }, context),
    !isCancelled &&
      !isFinished &&
      actionForm({ action: 'cancel-batch', label: 'Cancel', isDangerous: true, ...of }, context),
  ];
}

/** The progress of a batch, as a picture and in words. */
import type { Batch } from '../../dispatch/batch/batch';
import { html, type Html } from '../html';
import { numberText } from '../parts/number';

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

/** A picture of jobs that come one after another, as boxes: what is done, what runs, what comes, and what comes only if one fails. */
import { html, type Html, type Shown } from '../html';

export interface Box {
  readonly job: Html;
  /** `not yet`. Undefined: it is no job, but what lies between two. */
  readonly state?: string;
  readonly tone?: string | undefined;
  /** When it comes, or why it does not. */
  readonly note?: Shown;
  /** Beside the way: it comes only if a job fails. */
  readonly isAside?: boolean;
}

/** A list, so that it is read in this order without being seen. */
export function flow(label: string, boxes: readonly Box[]): Html {
  const box = ({ job, state, tone = '', note, isAside = false }: Box): Html =>
    state === undefined
      ? html`<li class="between">${job}</li>`
      : html`<li${isAside && html` class="aside"`}>${job} <span class="soft">${note}</span> <span class="badge ${tone}">${state}</span></li>`;
  return html`<ol class="flow" aria-label="${label}">${boxes.map(box)}</ol>`;
}

/** What was found, how far was looked, and what to do where nothing was. */
import type { Milliseconds } from '../../base/clock';
import { html, type Html } from '../html';
import { counted, numberText } from '../parts/number';
import type { Known } from './known';
import { matchTable } from './match-table';
import type { Scan } from './scan';
import { further, type Wanted } from './wanted';

/** Names that are shown. */
const MOST_KNOWN = 12;

const KINDS: Readonly<Record<Known['kind'], string>> = {
  job: 'Job',
  batch: 'Batch',
  queue: 'Queue',
  schedule: 'Schedule',
  class: 'Failed jobs of the class',
};

export function knownList(known: readonly Known[]): Html {
  const rest = known.length - MOST_KNOWN;
  const one = ({ kind, name, connection, state, page }: Known): Html =>
    html`<li>${KINDS[kind]} <a href="${page}"><bdi>${name}</bdi></a>${connection !== undefined && html` <span class="soft">on <bdi>${connection}</bdi></span>`}${state !== undefined && html` <span class="badge">${state}</span>`}</li>`;
  return html`<h2>By its id or name</h2><ul class="names">${known.slice(0, MOST_KNOWN).map(one)}${rest > 0 && html`<li class="soft">and ${numberText(rest)} more</li>`}</ul>`;
}

/** @param whyNone what it means that nothing is known of this text */
export function matchList(scan: Scan, wanted: Wanted, now: Milliseconds, whyNone?: Html): Html {
  const { matches } = scan;
  return html`${matches.length > 0 ? matchTable(matches, wanted.text, now) : nothing(scan, wanted, whyNone)}${extent(scan, wanted)}`;
}

function nothing({ next }: Scan, { text, from }: Wanted, whyNone: Html | undefined): Html {
  const quoted = html`“<bdi>${text}</bdi>”`;
  if (next !== undefined)
    return html`<p class="empty">None of these jobs has ${quoted} in its data, its name, its id or its error.</p>`;
  if (from !== undefined) return html`<p class="empty">There is no further job with ${quoted}.</p>`;
  const rest = html`Try a shorter text, or all queues and states. Completed jobs are found by their whole id alone, and masked values
    are not searched.`;
  return html`<p class="empty">
    No job that waits, runs or has failed has ${quoted} in its data, its name, its id or its error. ${whyNone ?? rest}
  </p>`;
}

function extent(scan: Scan, wanted: Wanted): Html {
  const { looked, total, next } = scan;
  if (next === undefined) return html`<p class="pages">Looked at ${counted(looked, 'job')}. That is all.</p>`;
  const before = wanted.from?.looked ?? 0;
  return html`<p class="pages"><span>Looked at ${numberText(looked)} of ${counted(total, 'job')}${before > 0 && html`, here at the last ${numberText(looked - before)} of these`}.</span> <a href="${further(wanted, next)}" rel="next">Look further</a></p>`;
}

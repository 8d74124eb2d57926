/** What was found, how much was searched, and what to do if nothing was found. */
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
  return html`<h2>By id or name</h2><ul class="names">${known.slice(0, MOST_KNOWN).map(one)}${rest > 0 && html`<li class="soft">and ${numberText(rest)} more</li>`}</ul>`;
}

/** @param whyNone what it may mean that nothing is known of this text */
export function matchList(scan: Scan, wanted: Wanted, now: Milliseconds, whyNone?: Html): Html {
  const { matches } = scan;
  return html`${matches.length > 0 ? matchTable(matches, wanted.text, now) : nothing(scan, wanted, whyNone)}${extent(scan, wanted)}`;
}

function nothing({ next }: Scan, { text, from }: Wanted, whyNone: Html | undefined): Html {
  const quoted = html`“<bdi>${text}</bdi>”`;
  if (next !== undefined)
    return html`<p class="empty">None of these jobs has ${quoted} in its data, its name, its id or its error.</p>`;
  if (from !== undefined) return html`<p class="empty">There are no more jobs with ${quoted}.</p>`;
  const rest = html`Try a shorter text, or all queues and states. Completed jobs are only found by their whole id, and masked values
    are not searched.`;
  return html`<p class="empty">
    No waiting, running or failed job has ${quoted} in its data, its name, its id or its error. ${whyNone ?? rest}
  </p>`;
}

function extent(scan: Scan, wanted: Wanted): Html {
  const { looked, total, next } = scan;
  if (next === undefined) return html`<p class="pages">Searched all ${counted(looked, 'job')}.</p>`;
  const before = wanted.from?.looked ?? 0;
  return html`<p class="pages"><span>Searched ${numberText(looked)} of ${counted(total, 'job')}${before > 0 && html`, here the last ${numberText(looked - before)} of these`}.</span> <a href="${further(wanted, next)}" rel="next">Search further</a></p>`;
}

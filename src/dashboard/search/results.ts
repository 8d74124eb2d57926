/** What was found, how much was searched, and what to do if nothing was found. */
import type { Milliseconds } from '../../base/clock';
import type { ListedJob } from '../../operations/listed-job';
import { html, type Html } from '../html';
import { jobLink } from '../parts/links';
import { counted, numberText } from '../parts/number';
import { table } from '../parts/table';
import { moment } from '../parts/time';
import { address } from '../addresses';
import type { Known } from './known';
import { Pattern } from './pattern';
import type { Match, Scan } from './scan';
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

function matchTable(matches: readonly Match[], text: string, now: Milliseconds): Html {
  const pattern = new Pattern(text);
  return table({
    caption: html`${counted(matches.length, 'job')} with “<bdi>${text}</bdi>”`,
    columns: ['Job', 'Where', 'Queue', 'State', 'When'],
    rows: matches.map((match) => matchRow(match, pattern, now)),
  });
}

function matchRow({ job, excerpt }: Match, pattern: Pattern, now: Milliseconds): Html {
  const { id, name, connection, queue, state } = job;
  return html`<tr><th scope="row">${jobLink(job, pattern.marked(name))}<br><span class="soft mono">${id !== undefined && pattern.marked(id)}</span></th>
<td class="excerpt">${excerpt}</td><td><a href="${address('queue', { connection, queue, state })}"><bdi>${queue}</bdi></a></td><td><span class="badge ${state === 'failed' ? 'bad' : ''}">${state}</span></td><td class="when">${whenOf(job, now)}</td></tr>`;
}

function whenOf({ state, at, failedAt, createdAt }: ListedJob, now: Milliseconds): Html | undefined {
  if (state === 'failed') return failedAt && moment(failedAt, now);
  if (state === 'delayed') return at && html`ready ${moment(at, now)}`;
  return createdAt && html`dispatched ${moment(createdAt, now)}`;
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

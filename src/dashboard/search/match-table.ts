/** The jobs that a text was found in. */
import type { Milliseconds } from '../../base/clock';
import type { ListedJob } from '../../operations/listed-job';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { counted } from '../parts/number';
import { moment } from '../parts/time';
import { Pattern } from './pattern';
import type { Match } from './scan';

export function matchTable(matches: readonly Match[], text: string, now: Milliseconds): Html {
  const pattern = new Pattern(text);
  return html`<table><caption>${counted(matches.length, 'job')} with “<bdi>${text}</bdi>”</caption>
<thead><tr><th scope="col">Job</th><th scope="col">Where</th><th scope="col">Queue</th><th scope="col">State</th><th scope="col">When</th></tr></thead>
<tbody>${matches.map((match) => row(match, pattern, now))}</tbody></table>`;
}

function row({ job, excerpt }: Match, pattern: Pattern, now: Milliseconds): Html {
  const { id, name, connection, queue, state } = job;
  const shown = pattern.marked(name);
  const title = id === undefined ? shown : html`<a href="${address('job', { connection, queue, id })}">${shown}</a>`;
  return html`<tr><th scope="row">${title}<br><span class="soft mono">${id !== undefined && pattern.marked(id)}</span></th>
<td class="excerpt">${excerpt}</td><td><a href="${address('queue', { connection, queue, state })}"><bdi>${queue}</bdi></a></td><td><span class="badge ${state === 'failed' ? 'bad' : ''}">${state}</span></td><td class="when">${whenOf(job, now)}</td></tr>`;
}

function whenOf({ state, at, failedAt, createdAt }: ListedJob, now: Milliseconds): Html | undefined {
  if (state === 'failed') return failedAt && moment(failedAt, now);
  if (state === 'delayed') return at && html`ready ${moment(at, now)}`;
  return createdAt && html`dispatched ${moment(createdAt, now)}`;
}

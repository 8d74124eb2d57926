/** The figures of each job class. */
import type { JobFigures } from '../../operations/figures/figures';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { numberText } from './number';
import { secondsText } from './time';

/** How many classes are shown. */
const MOST = 15;

/** The classes that took the most time come first. */
export function jobTable(connection: string, jobs: readonly JobFigures[], range: string): Html | undefined {
  if (jobs.length === 0) return undefined;
  const timeOf = ({ run }: JobFigures): number => (run === undefined ? 0 : run.count * run.mean);
  const shown = jobs.toSorted((a, b) => timeOf(b) - timeOf(a)).slice(0, MOST);
  const row = ({ queue, job, completed, failed, released, run, wait }: JobFigures): Html =>
    html`<tr data-key="${`${queue} ${job}`}"><th scope="row"><bdi>${job}</bdi></th><td><a href="${address('queue', { connection, queue })}"><bdi>${queue}</bdi></a></td>
<td class="number">${numberText(completed)}</td><td class="number">${failed > 0 ? html`<a class="bad" href="${address('failed', { connection, queue, name: job })}">${numberText(failed)}</a>` : '0'}</td><td class="number">${numberText(released)}</td>
<td class="number">${secondsText(run?.mean)}</td><td class="number">${secondsText(run?.p95)}</td><td class="number">${secondsText(wait?.p95)}</td></tr>`;
  return html`<table><caption>Jobs <span class="soft">in the last ${range}, most time first${jobs.length > MOST && `, ${MOST} of ${jobs.length}`}</span></caption>
<thead><tr><th scope="col">Job</th><th scope="col">Queue</th><th scope="col" class="number">Completed</th><th scope="col" class="number">Failed</th><th scope="col" class="number">Released</th><th scope="col" class="number">Mean</th><th scope="col" class="number" title="95 of 100 took no longer">95 %</th><th scope="col" class="number" title="95 of 100 waited no longer">Wait 95 %</th></tr></thead>
<tbody>${shown.map(row)}</tbody></table>`;
}

/** The figures of each job class. */
import type { JobFigures } from '../../operations/figures/figures';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { queueLink } from './links';
import { numberText } from './number';
import { numberColumn, table } from './table';
import { secondsText } from './time';

/** How many classes are shown. */
const MOST = 15;

/** The classes that took the most time come first. */
export function jobTable(connection: string, jobs: readonly JobFigures[], range: string): Html | undefined {
  if (jobs.length === 0) return undefined;
  const timeOf = ({ run }: JobFigures): number => (run === undefined ? 0 : run.count * run.mean);
  const shown = jobs.toSorted((a, b) => timeOf(b) - timeOf(a)).slice(0, MOST);
  const row = ({ queue, job, completed, failed, released, run, wait }: JobFigures): Html =>
    html`<tr data-key="${`${queue} ${job}`}"><th scope="row"><bdi>${job}</bdi></th><td>${queueLink({ connection, queue })}</td>
<td class="number">${numberText(completed)}</td><td class="number">${failed > 0 ? html`<a class="bad" href="${address('failed', { connection, queue, name: job })}">${numberText(failed)}</a>` : '0'}</td><td class="number">${numberText(released)}</td>
<td class="number">${secondsText(run?.mean)}</td><td class="number">${secondsText(run?.p95)}</td><td class="number">${secondsText(wait?.p95)}</td></tr>`;
  return table({
    caption: html`Jobs <span class="soft">in the last ${range}, most time first${jobs.length > MOST && `, ${MOST} of ${jobs.length}`}</span>`,
    columns: [
      'Job',
      'Queue',
      ...['Completed', 'Failed', 'Released', 'Mean'].map((label) => numberColumn(label)),
      numberColumn('95 %', '95 of 100 took no longer'),
      numberColumn('Wait 95 %', '95 of 100 waited no longer'),
    ],
    rows: shown.map(row),
  });
}

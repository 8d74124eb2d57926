/** Runs that are kept, one by one: when, which job, how they ended, how long they took, and where. */
import { spanText } from '../../base/span';
import { completedKept, type AttemptOutcome } from '../../operations/history/attempt';
import type { KeptRun } from '../../operations/kept-runs';
import { html, type Html } from '../html';
import type { PageContext } from '../view';
import { jobLink, queueLink } from './links';
import { numberColumn, table } from './table';
import { errorLine, moment } from './text';

export const OUTCOMES: Readonly<Record<AttemptOutcome, { readonly text: string; readonly tone: string }>> = {
  completed: { text: 'completed', tone: 'good' },
  failed: { text: 'failed', tone: 'bad' },
  'timed-out': { text: 'timed out', tone: 'bad' },
  crashed: { text: 'crashed', tone: 'bad' },
  lost: { text: 'lost', tone: 'warn' },
  cancelled: { text: 'cancelled', tone: 'warn' },
};

export function runTable(caption: Html, runs: readonly KeptRun[], { now }: PageContext): Html {
  const row = (run: KeptRun): Html => {
    const { id, connection, fence, outcome, at, ms, attempt, worker, error } = run;
    const { text, tone } = OUTCOMES[outcome] ?? { text: outcome, tone: '' };
    return html`<tr data-key="${`${connection} ${id} ${fence}`}"><th scope="row">${jobLink(run)}</th>
<td><span class="badge ${tone}">${text}</span>${attempt > 1 && html` <span class="soft">attempt ${attempt}</span>`}</td><td>${queueLink(run)}</td>
<td class="number">${ms !== undefined && spanText(ms)}</td><td>${moment(at, now)}</td>
<td class="line"><bdi>${worker}</bdi></td><td class="line message"><bdi>${errorLine(error ?? '')}</bdi></td></tr>`;
  };
  const columns = ['Job', 'Outcome', 'Queue', numberColumn('Took'), 'Ended', 'Worker', 'Error'];
  return table({ caption, columns, rows: runs.map(row) });
}

/** What a list of runs cannot contain. Undefined if completed runs are kept. */
export function unkeptNote({ manager }: PageContext): Html | undefined {
  if (completedKept(manager) !== undefined) return undefined;
  return html`<p class="soft">Completed runs are not kept: <code>history</code> in the configuration turns that off.</p>`;
}

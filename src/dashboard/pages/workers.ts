/** The workers, their state, and their running jobs. */
import { spanText } from '../../base/span';
import { isSilent, labelOf, nowOf, type RunningWorker } from '../../operations/worker-record';
import { address } from '../addresses';
import { SLOW_LOOP } from '../health';
import { html, type Html } from '../html';
import { jobLink, queueLink } from '../parts/links';
import { numberColumn, table } from '../parts/table';
import { counted, moment, numberText, secondsText, troublesOf } from '../parts/text';
import { allWorkers } from '../readings';
import type { Page, PageContext } from '../view';

/** How many workers, queues of a worker, and running jobs are shown. */
const MOST = 100;
const MOST_QUEUES = 10;

export const workers: Page = async (context) => {
  const { workers: found, seen } = await allWorkers(context);
  const busy = found.reduce((sum, worker) => sum + worker.busy, 0);
  return {
    title: 'Workers',
    parts: {
      workers: html`${troublesOf(seen)}${found.length === 0 ? nobody(context) : workerTable(found)}`,
      running:
        busy > 0
          ? html`<p class="empty"><a href="${address('running')}">${counted(busy, 'job runs', 'jobs run')}</a> on them.</p>`
          : undefined,
    },
    data: found,
  };
};

function nobody({ manager }: PageContext): Html {
  if (manager.configuration.metrics === false)
    return html`<p class="empty">With <code>metrics: false</code> in the configuration, workers do not report.</p>`;
  return html`<p class="empty">
    No worker runs, or none has reported in the last minute. Start one: <code>npx onqueue work</code>
  </p>`;
}

function workerTable(found: readonly RunningWorker[]): Html {
  // Silent workers first, because somebody should look at them.
  const sorted = found.toSorted((a, b) => Number(isSilent(b)) - Number(isSilent(a)));
  const numbers = ['Completed', 'Failed', 'Lag'].map((label) => numberColumn(label));
  return table({
    caption: html`${counted(found.length, 'worker')}${found.length > MOST && html` <span class="soft">${MOST} of them, silent ones first</span>`}`,
    columns: ['Worker', 'State', 'Queues', 'Busy', ...numbers, 'Began'],
    rows: sorted.slice(0, MOST).map(workerRow),
  });
}

function workerRow(worker: RunningWorker): Html {
  const { id, name, host, pid, version, connection, queues, paused, busy, concurrency, outcomes, lag, since, waiting } =
    worker;
  const names = queues.slice(0, MOST_QUEUES).map((queue) => {
    const mark = paused.includes(queue) && html` <span class="badge">paused</span>`;
    return html`<li>${queueLink({ connection, queue })}${mark}</li>`;
  });
  const rest = queues.length - MOST_QUEUES;
  return html`<tr data-key="${id}">
    <th scope="row"><bdi>${name}</bdi> <span class="soft">${String(pid)}</span><br><span class="soft">${!name.startsWith(host) && html`<bdi>${host}</bdi>, `}${connection}, Onqueue ${version}</span></th>
    <td>${stateOf(worker)}${waiting && html`<br><span class="warn">${jobLink({ ...waiting, connection })} waits to run alone</span>`}</td>
    <td><ul class="names row">${names}${rest > 0 && html`<li class="soft">and ${counted(rest, 'more queue')}</li>`}</ul></td>
    <td class="busy"><meter min="0" max="${concurrency}" value="${busy}" aria-label="busy">${busy}</meter> <a href="${address('running', { worker: labelOf(worker) })}">${busy} of ${concurrency}</a></td>
    <td class="number">${numberText(outcomes.completed)}</td>
    <td class="number">${numberText(outcomes.failed)}</td>
    <td class="number"><span class="${lag >= SLOW_LOOP ? 'warn' : ''}">${spanText(lag)}</span></td>
    <td>${moment(since, nowOf(worker))}</td>
  </tr>`;
}

function stateOf(worker: RunningWorker): Html {
  const { state, silentFor } = worker;
  if (isSilent(worker))
    return html`<span class="badge bad" title="It is stuck, its store is unreachable, or its process has died.">silent for ${secondsText(silentFor)}</span>`;
  return html`<span class="badge ${state === 'running' ? 'good' : 'warn'}">${state}</span>`;
}

/** The workers, their state, and their running jobs. */
import { spanText } from '../../base/span';
import type { Milliseconds } from '../../base/clock';
import type { RunningWorker, WorkersJob } from '../../operations/worker-record';
import { SILENT, SLOW_LOOP } from '../health';
import { html, type Html } from '../html';
import { jobLink, queueLink } from '../parts/links';
import { numberColumn, table } from '../parts/table';
import { counted, moment, numberText, secondsText } from '../parts/text';
import { workersOf } from '../readings';
import type { Page, PageContext } from '../view';

/** How many workers, queues of a worker, and running jobs are shown. */
const MOST = 100;
const MOST_QUEUES = 10;

export const workers: Page = async (context) => {
  const found = await allWorkers(context);
  return {
    title: 'Workers',
    parts: { workers: found.length === 0 ? nobody(context) : workerTable(found), running: runningTable(found) },
    data: found,
  };
};

/** The workers of all connections, several of which may keep their records in one store. */
async function allWorkers(context: PageContext): Promise<readonly RunningWorker[]> {
  const byId = new Map<string, RunningWorker>();
  for (const name of context.manager.connectionNames())
    for (const worker of (await workersOf(name, context)) ?? []) byId.set(worker.id, worker);
  return [...byId.values()];
}

function nobody({ manager }: PageContext): Html {
  if (manager.configuration.metrics === false)
    return html`<p class="empty">With <code>metrics: false</code> in the configuration, workers do not report.</p>`;
  return html`<p class="empty">
    No worker has reported in the last minute. Start one: <code>npx onqueue work</code>
  </p>`;
}

function workerTable(found: readonly RunningWorker[]): Html {
  // Silent workers first, because somebody should look at them.
  const sorted = found.toSorted((a, b) => Number(b.silentFor > SILENT) - Number(a.silentFor > SILENT));
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
    <td><ul class="names">${names}${rest > 0 && html`<li class="soft">and ${counted(rest, 'more queue')}</li>`}</ul></td>
    <td class="busy"><meter min="0" max="${concurrency}" value="${busy}" aria-label="busy">${busy}</meter> ${busy} of ${concurrency}</td>
    <td class="number">${numberText(outcomes.completed)}</td>
    <td class="number">${numberText(outcomes.failed)}</td>
    <td class="number"><span class="${lag >= SLOW_LOOP ? 'warn' : ''}">${spanText(lag)}</span></td>
    <td>${moment(since, nowOf(worker))}</td>
  </tr>`;
}

function stateOf({ state, silentFor }: RunningWorker): Html {
  if (silentFor > SILENT)
    return html`<span class="badge bad" title="It is stuck, its store is unreachable, or its process has died.">silent for ${secondsText(silentFor)}</span>`;
  return html`<span class="badge ${state === 'running' ? 'good' : 'warn'}">${state}</span>`;
}

function runningTable(found: readonly RunningWorker[]): Html {
  const rows = found.flatMap((worker) => worker.running.map((job) => ({ worker, job })));
  if (rows.length === 0) return html`<h2>Running jobs</h2><p class="empty">No job is running.</p>`;
  const unnamed = found.reduce((sum, { busy, running }) => sum + Math.max(busy - running.length, 0), 0);
  // Longest-running first, because those deserve a look.
  const sorted = rows.toSorted((a, b) => a.job.since.getTime() - b.job.since.getTime());
  const shown = table({
    caption: html`Running jobs${sorted.length > MOST && html` <span class="soft">${MOST} of ${numberText(sorted.length)}, longest-running first</span>`}`,
    columns: ['Job', 'Queue', numberColumn('Attempt'), 'Worker', 'Since'],
    rows: sorted.slice(0, MOST).map(({ worker, job }) => runningRow(worker, job)),
  });
  return html`${shown}${unnamed > 0 && html`<p class="soft">${counted(unnamed, 'more job runs', 'more jobs run')}, not named by their workers.</p>`}`;
}

function runningRow(worker: RunningWorker, job: WorkersJob): Html {
  const { connection, name, pid } = worker;
  const { id, queue, attempt, since } = job;
  return html`<tr data-key="${id}">
    <th scope="row">${jobLink({ ...job, connection })} <span class="soft mono">${id}</span></th>
    <td>${queueLink({ connection, queue })}</td>
    <td class="number">${attempt}</td>
    <td><bdi>${name}</bdi> <span class="soft">${String(pid)}</span></td>
    <td>${moment(since, nowOf(worker))}</td>
  </tr>`;
}

/** By the store's clock, like all moments of the record. */
function nowOf({ heardAt, silentFor }: RunningWorker): Milliseconds {
  return heardAt.getTime() + silentFor * 1000;
}

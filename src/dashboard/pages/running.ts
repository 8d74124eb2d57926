/** The jobs that run now, by what their workers report: for how long, on which worker, and how far they are. */
import type { Milliseconds } from '../../base/clock';
import { spanText } from '../../base/span';
import { readProgress, type FoundProgress } from '../../operations/found-job';
import { PROGRESS } from '../../operations/history/attempt';
import { runsOf, type RunningWorker, type WorkersJob } from '../../operations/worker-record';
import { address } from '../addresses';
import { SILENT } from '../health';
import { html, type Html } from '../html';
import { choiceOf, filterForm } from '../parts/filter';
import { actionForm, jobLink, queueLink } from '../parts/links';
import { numberColumn, ACTIONS, table } from '../parts/table';
import { counted, numberText, troublesOf } from '../parts/text';
import { placeOf, ticks } from '../parts/ticks';
import { allWorkers, readEach, recordOf, type Seen, snapshotOf } from '../readings';
import type { Page, PageContext } from '../view';
import { jobTabs } from './job-tabs';

const MOST = 100;

interface RunningRow extends WorkersJob {
  readonly worker: RunningWorker;
  readonly connection: string;
  readonly progress: FoundProgress | undefined;
}

export const running: Page = async (context) => {
  const { manager, query, lookout } = context;
  const choice = choiceOf(query, ['name', 'queue', 'worker']);
  const [{ workers }, seen] = await Promise.all([
    allWorkers(context),
    readEach(manager.connectionNames(), (name) => snapshotOf(name, context)),
  ]);
  const queues = seen.flatMap(({ found }) => found?.queues ?? []);
  const reserved = queues.reduce((sum, queue) => sum + queue.running, 0);
  const all = runsOf(workers).map(({ worker, job }) => ({ ...job, worker, connection: worker.connection }));
  const fitting = all
    .filter(
      ({ name, queue, worker }) =>
        name.includes(choice['name'] ?? '') &&
        (choice['queue'] === undefined || queue === choice['queue']) &&
        `${worker.name}:${worker.pid}`.includes(choice['worker'] ?? ''),
    )
    // Longest-running first, because those deserve a look.
    .toSorted((a, b) => a.since.getTime() - b.since.getTime());
  const rows = await lookout.see(`progress ${context.here}`, () =>
    Promise.all(fitting.slice(0, MOST).map(async (row) => ({ ...row, progress: await progressOf(row, context) }))),
  );
  return {
    title: 'Running jobs',
    parts: {
      tabs: jobTabs('running'),
      choice: filterForm('running', choice, { name: 'Job', queue: 'Queue', worker: 'Worker' }),
      running: runningTable(
        rows,
        { count: fitting.length, unnamed: reserved - all.length, seen, isChosen: all.length > fitting.length },
        context,
      ),
    },
    data: rows.map(({ worker, ...row }) => ({
      ...row,
      worker: `${worker.name}:${worker.pid}`,
      silentFor: worker.silentFor,
    })),
  };
};

async function progressOf(
  job: WorkersJob & { readonly connection: string },
  context: PageContext,
): Promise<FoundProgress | undefined> {
  const { fence } = job;
  return readProgress(await recordOf(PROGRESS, job, context), (of) => fence === undefined || of === fence);
}

interface Extent {
  readonly count: number;
  /** Reserved jobs that no worker reports. */
  readonly unnamed: number;
  readonly seen: readonly Seen<unknown>[];
  readonly isChosen: boolean;
}

function runningTable(
  rows: readonly RunningRow[],
  { count, unnamed, seen, isChosen }: Extent,
  context: PageContext,
): Html {
  const rest = html`${troublesOf(seen)}${
    unnamed > 0 &&
    html`<p class="soft">${rows.length === 0 ? counted(unnamed, 'job is', 'jobs are') : counted(unnamed, 'more job is', 'more jobs are')} reserved, which no worker reports: their workers have just taken them, have died, or keep no records.
<a href="${address('')}">The queues</a> list them as running.</p>`
  }`;
  if (rows.length === 0)
    return html`<p class="empty">${isChosen ? 'No worker reports such a job.' : unnamed > 0 ? 'No worker reports a running job.' : 'No job is running.'}</p>${rest}`;
  const { buttons, heading, box } = ticks('running', context);
  const row = (job: RunningRow): Html => {
    const { id, name, queue, connection, attempt, worker, progress } = job;
    const about = { fields: { connection, queue, id }, subject: name };
    return html`<tr data-key="${placeOf(job)}">${box(job)}<th scope="row">${jobLink(job)}</th><td>${queueLink(job)}</td>
<td class="number">${spanText(Math.max(0, nowOf(worker) - job.since.getTime()))}</td><td class="number">${attempt}</td>
<td><a href="${address('running', { worker: `${worker.name}:${worker.pid}` })}"><bdi>${worker.name}</bdi>:${String(worker.pid)}</a>${worker.silentFor > SILENT && html` <span class="badge bad" title="It is stuck or has died; once the lease ends, another worker gets the job.">silent</span>`}</td>
<td>${progress && html`<progress max="1" value="${progress.value}" aria-label="Progress"></progress> ${Math.floor(progress.value * 100)} % <bdi class="soft">${progress.text}</bdi>`}</td>
<td class="actions">${actionForm({ action: 'cancel-job', label: 'Cancel', ...about }, context)}</td></tr>`;
  };
  const shown = table({
    caption: html`${counted(count, 'job runs', 'jobs run')}${count > MOST && html` <span class="soft">${MOST} of ${numberText(count)}</span>`}<span class="soft">, longest-running first</span>`,
    columns: [heading, 'Job', 'Queue', numberColumn('For'), numberColumn('Attempt'), 'Worker', 'Progress', ACTIONS],
    rows: rows.map(row),
  });
  return html`${buttons}${shown}${rest}`;
}

/** By the store's clock, like all moments of the record. */
export function nowOf({ heardAt, silentFor }: RunningWorker): Milliseconds {
  return heardAt.getTime() + silentFor * 1000;
}

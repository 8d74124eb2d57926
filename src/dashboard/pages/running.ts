/** The jobs that run now, by what their workers report: for how long, on which worker, and how far they are. */
import { spanText } from '../../base/span';
import { readProgress, type FoundProgress } from '../../operations/found-job';
import { PROGRESS } from '../../operations/history/attempt';
import { totalsOf } from '../../operations/snapshot';
import { ageOf, isSilent, labelOf, type RunningWorker, runsOf, type WorkersJob } from '../../operations/worker-record';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { choiceOf, filterForm } from '../parts/filter';
import { actionsCell, jobTable } from '../parts/job-table';
import { queueLink } from '../parts/links';
import { ACTIONS, numberColumn } from '../parts/table';
import { counted, numberText, troublesOf } from '../parts/text';
import { allWorkers, readEach, recordOf, snapshotOf } from '../readings';
import type { Page, PageContext } from '../view';
import { jobTabs } from './job-classes';

const MOST = 100;

interface RunningRow extends WorkersJob {
  readonly state: 'running';
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
  const { running: reserved } = totalsOf(seen.flatMap(({ found }) => found?.queues ?? []));
  const all = runsOf(workers).map(({ worker, job }) => {
    return { ...job, worker, connection: worker.connection, state: 'running' as const };
  });
  const fitting = all
    .filter(
      ({ name, queue, worker }) =>
        name.includes(choice.name ?? '') &&
        (choice.queue === undefined || queue === choice.queue) &&
        labelOf(worker).includes(choice.worker ?? ''),
    )
    // Longest-running first, because those deserve a look.
    .toSorted((a, b) => a.since.getTime() - b.since.getTime());
  const withProgress = async (row: (typeof all)[number]): Promise<RunningRow> => {
    const { fence } = row;
    const record = await recordOf(PROGRESS, row, context);
    return { ...row, progress: readProgress(record, (of) => fence === undefined || of === fence) };
  };
  const read = () => Promise.all(fitting.slice(0, MOST).map(withProgress));
  const rows = await lookout.see(`progress ${context.here}`, read);
  return {
    title: 'Running jobs',
    parts: {
      tabs: jobTabs('running'),
      choice: filterForm('running', choice, { name: 'Job', queue: 'Queue', worker: 'Worker' }),
      running: html`${rows.length > 0 ? runningTable(rows, fitting.length, context) : html`<p class="empty">${all.length > 0 ? 'No worker reports such a job.' : reserved > 0 ? 'No worker reports a running job.' : 'No job is running.'}</p>`}${troublesOf(seen)}${unnamed(reserved - all.length, rows.length > 0)}`,
    },
    data: rows.map(({ worker, ...row }) => ({
      ...row,
      worker: labelOf(worker),
      silentFor: worker.silentFor,
    })),
  };
};

/** What the workers do not report of the reserved jobs. */
function unnamed(count: number, isMore: boolean): Html | undefined {
  if (count <= 0) return undefined;
  return html`<p class="soft">${isMore ? counted(count, 'more job is', 'more jobs are') : counted(count, 'job is', 'jobs are')} reserved, which no worker reports: their workers have just taken them, have died, or keep no records.
<a href="${address('')}">The queues</a> list them as running.</p>`;
}

function runningTable(jobs: readonly RunningRow[], count: number, context: PageContext): Html {
  const cells = (job: RunningRow): Html => {
    const { attempt, worker, since, progress } = job;
    return html`<td>${queueLink(job)}</td><td class="number">${spanText(ageOf(worker, since))}</td><td class="number">${attempt}</td>
<td><a href="${address('running', { worker: labelOf(worker) })}"><bdi>${worker.name}</bdi>:${String(worker.pid)}</a>${isSilent(worker) && html` <span class="badge bad" title="It is stuck or has died; once the lease ends, another worker gets the job.">silent</span>`}</td>
<td>${progress && html`<progress max="1" value="${progress.value}" aria-label="Progress"></progress> ${Math.floor(progress.value * 100)} % <bdi class="soft">${progress.text}</bdi>`}</td>${actionsCell(job, context)}`;
  };
  const caption = html`${counted(count, 'job runs', 'jobs run')}${count > MOST && html` <span class="soft">${MOST} of ${numberText(count)}</span>`}<span class="soft">, longest-running first</span>`;
  const columns = ['Queue', numberColumn('For'), numberColumn('Attempt'), 'Worker', 'Progress', ACTIONS];
  return jobTable({ state: 'running', jobs, caption, columns, cells }, context);
}

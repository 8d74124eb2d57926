/** Jobs that come later: those that were sent for a later moment, and those that wait for their next try, with their last error. */
import { isStoreAway } from '../../connections/errors';
import type { ListedJob } from '../../operations/listed-job';
import { redact } from '../../base/redact';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { choiceOf, filterForm } from '../parts/filter';
import { actionsCell, attemptsCell, jobTable } from '../parts/job-table';
import { queueLink } from '../parts/links';
import { ACTIONS, numberColumn } from '../parts/table';
import { counted, dataText, errorLine, excerptOf, moment, numberText, troublesOf } from '../parts/text';
import { isIncapable, lastAttempt, readEach, readOr, type Seen, snapshotOf } from '../readings';
import type { Page, PageContext } from '../view';
import { jobTabs } from './job-classes';

/** Rows of the page, and jobs of one queue that are looked at. */
const MOST = 50;
const OF_QUEUE = 100;
/** Jobs of all queues together. */
const OF_ALL = 1000;

interface Look {
  /** The next ones first. */
  readonly jobs: readonly ListedJob[];
  /** Delayed jobs that there are. */
  readonly total: number;
  readonly seen: readonly Seen<unknown>[];
}

const later =
  (which: 'scheduled' | 'retrying'): Page =>
  async (context) => {
    const choice = choiceOf(context.query, ['name', 'queue', 'text']);
    const { jobs, total, seen } = await lookAtDelayed(context, choice.queue);
    const isWanted = (job: ListedJob): boolean =>
      job.attempts > 0 === (which === 'retrying') &&
      job.name.includes(choice.name ?? '') &&
      dataText(job.payload)
        .toLowerCase()
        .includes((choice.text ?? '').toLowerCase());
    const found = jobs.filter(isWanted);
    const next = found.slice(0, MOST);
    const shown = which === 'retrying' ? await withErrors(next, context) : next;
    return {
      title: which === 'retrying' ? 'Jobs that are tried again' : 'Scheduled jobs',
      parts: {
        tabs: jobTabs(which),
        choice: filterForm(which, choice, { name: 'Job', queue: 'Queue', text: 'Data contains' }),
        jobs: html`${troublesOf(seen)}${laterTable(which, shown, found.length, context)}${
          total > jobs.length &&
          html`<p class="soft">Searched ${numberText(jobs.length)} of ${counted(total, 'delayed job')}, the next ones of each queue. The page of <a href="${address('all-queues')}">each queue</a> lists all.</p>`
        }`,
      },
      data: { jobs: shown, looked: jobs.length, total },
    };
  };

export const scheduled = later('scheduled');
export const retrying = later('retrying');

function lookAtDelayed(context: PageContext, queue: string | undefined): Promise<Look> {
  const { manager, lookout } = context;
  const read = async (): Promise<Look> => {
    const seen = await readEach(manager.connectionNames(), (name) => snapshotOf(name, context));
    const jobs: ListedJob[] = [];
    let total = 0;
    for (const { connection, queues } of seen.flatMap(({ found }) => found ?? []))
      for (const one of queues) {
        if (one.delayed === 0 || (queue !== undefined && one.queue !== queue)) continue;
        total += one.delayed;
        const limit = Math.min(OF_QUEUE, OF_ALL - jobs.length);
        if (limit <= 0) continue;
        const list = () => manager.connection(connection).jobs(one.queue, { state: 'delayed', limit });
        jobs.push(...((await readOr(list, undefined, isIncapable, isStoreAway))?.jobs ?? []));
      }
    return { jobs: jobs.toSorted((a, b) => (a.at?.getTime() ?? 0) - (b.at?.getTime() ?? 0)), total, seen };
  };
  return lookout.see(JSON.stringify(['delayed', queue]), read, 5000);
}

/** With their last errors, by their histories. */
function withErrors(jobs: readonly ListedJob[], context: PageContext): Promise<readonly ListedJob[]> {
  const told = async (job: ListedJob) => ({ ...job, error: redact((await lastAttempt(job, context))?.error ?? '') });
  const subject = JSON.stringify(['errors', jobs.map(({ id }) => id)]);
  return context.lookout.see(subject, () => Promise.all(jobs.map(told)), 5000);
}

function laterTable(
  which: 'scheduled' | 'retrying',
  jobs: readonly ListedJob[],
  count: number,
  context: PageContext,
): Html {
  const isRetry = which === 'retrying';
  if (jobs.length === 0)
    return html`<p class="empty">${isRetry ? 'No such job waits for its next try.' : 'No such job was sent for a later moment.'}</p>`;
  const cells = (job: ListedJob): Html => {
    const { at, payload, error } = job;
    return html`<td>${queueLink(job)}</td><td>${at && moment(at, context.now)}</td>${isRetry && attemptsCell(job)}
<td class="line message">${isRetry ? html`<bdi>${errorLine(error ?? '')}</bdi>` : payload !== undefined && excerptOf(payload)}</td>${actionsCell(job, context)}`;
  };
  const columns = isRetry
    ? ['Queue', 'Next try', numberColumn('Attempts'), 'Last error', ACTIONS]
    : ['Queue', 'Runs', 'Data', ACTIONS];
  const caption = html`${counted(count, 'job')}${count > MOST && html` <span class="soft">the next ${MOST}</span>`}`;
  return jobTable({ state: 'delayed', jobs, caption, columns, cells }, context);
}

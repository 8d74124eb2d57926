/** The first page: whether all is well, what is slow, and what comes next. */
import { keepsJobs } from '../../connections/driver';
import { type QueueSnapshot, type Snapshot, totalsOf } from '../../operations/snapshot';
import type { ScheduleListing } from '../../schedule/schedules';
import { address } from '../addresses';
import { type Finding, findingsIn, hasLateJobs, isNeglected, scheduleFindings, wellText } from '../health';
import { html, type Html } from '../html';
import { failureTable, type RecentFailures, recentFailures } from '../parts/failures';
import { chartsOf, periodIn, rateCharts, withoutSpans } from '../parts/figures';
import { keyNumbers } from '../parts/table';
import { comingList, counted, secondsText, tenths, troubles } from '../parts/text';
import { schedulesOf } from '../readings';
import type { Page, PageContext } from '../view';
import { queueTables, readQueues, type SeenQueues } from './queues';

/** How many problems are shown before one asks for the rest. */
const MOST_FINDINGS = 8;

/** How many of the next schedules are shown. */
const COMING = 5;

export const overview: Page = async (context) => {
  const { manager, query } = context;
  const period = periodIn(query);
  const [all, schedules, failures] = await Promise.all([
    readQueues(context, period),
    schedulesOf(context),
    recentFailures(context),
  ]);
  const snapshots = all.flatMap(({ found }) => found?.snapshot ?? []);
  const figures = all.flatMap(({ found }) => found?.figures ?? []);
  const workers = snapshots.flatMap((snapshot) => snapshot.workers ?? []);
  const findings = [
    ...snapshots.flatMap((one) => findingsIn(one, keepsJobs(manager.settings(one.connection).driver))),
    ...scheduleFindings(schedules),
  ];
  return {
    title: 'Overview',
    parts: {
      health: healthOf(findings, all, snapshots),
      failures: failureList(failures, context),
      numbers: numbersOf(snapshots),
      rate:
        figures.length === 0
          ? undefined
          : chartsOf('', {}, period, rateCharts(figures.map(({ total }) => total.spans)), workers),
      ...queueTables(all, context),
      coming: nextSchedules(schedules, context),
    },
    data: all.map(({ connection, found, trouble }) => ({
      connection,
      trouble,
      ...found?.snapshot,
      jobs: found?.figures && withoutSpans(found.figures.jobs),
    })),
  };
};

function healthOf(findings: readonly Finding[], all: readonly SeenQueues[], snapshots: readonly Snapshot[]): Html {
  const away = all.flatMap(({ connection, trouble }) =>
    trouble === undefined
      ? []
      : [{ tone: 'bad' as const, text: html`<strong><bdi>${connection}</bdi></strong>: ${trouble}` }],
  );
  const told = [...away, ...findings];
  if (told.length === 0)
    return html`<p class="health good"><strong>All is well.</strong> <span class="soft">${wellText(snapshots)}</span></p>`;
  const item = ({ tone, text }: Finding): Html => html`<li class="${tone}">${text}</li>`;
  const [shown, rest] = [told.slice(0, MOST_FINDINGS), told.slice(MOST_FINDINGS)];
  const more = html`<details id="more-problems"><summary>and ${counted(rest.length, 'more problem')}</summary><ul class="health">${rest.map(item)}</ul></details>`;
  return html`<h2 class="unseen">Problems</h2><ul class="health">${shown.map(item)}</ul>${rest.length > 0 && more}${isUnused(snapshots) && FIRST_STEPS}`;
}

/** Nothing was ever sent or run, as far as can be seen. */
function isUnused(snapshots: readonly Snapshot[]): boolean {
  const isIdle = ({ ready, delayed, running, failed = 0, rate = 0 }: QueueSnapshot): boolean =>
    ready + delayed + running + failed + rate === 0;
  return snapshots.every(({ queues, workers }) => workers?.length === 0 && queues.every(isIdle));
}

const FIRST_STEPS = html`<h2>Three steps to the first job</h2>
  <ol class="steps">
    <li>Write a class: <code>@Job() export class SendInvoice extends Job { async handle() { … } }</code></li>
    <li>Start a worker: <code>npx onqueue work</code></li>
    <li>Send a job: <code>await SendInvoice.dispatch()</code>. It appears here within seconds.</li>
  </ol>`;

/** Undefined if nothing failed. */
function failureList({ count, isCut, groups, away }: RecentFailures, context: PageContext): Html | undefined {
  if (groups.length + away.length === 0) return undefined;
  const total = isCut ? `the newest ${counted(count, 'job')}` : `${counted(count, 'job')} in the last hour`;
  const caption = html`Why jobs failed <span class="soft">${total}</span>`;
  return html`${troubles(away)}${groups.length > 0 && failureTable(caption, groups, context)}`;
}

function numbersOf(snapshots: readonly Snapshot[]): Html {
  const queues = snapshots.flatMap((snapshot) => snapshot.queues);
  const workers = new Set(snapshots.flatMap((snapshot) => snapshot.workers ?? []).map(({ id }) => id));
  const { ready, delayed, running, failed, rate } = totalsOf(queues);
  const waits = queues.flatMap(({ oldestWait }) => oldestWait ?? []);
  const isLate = queues.some(hasLateJobs);
  const isCounted = queues.some((queue) => queue.rate !== undefined);
  const hasRecords = snapshots.some((snapshot) => snapshot.workers !== undefined);
  const numbers = keyNumbers([
    isCounted && { label: 'Jobs a minute', value: tenths(rate) },
    { label: 'Waiting', value: ready },
    { label: 'Delayed', value: delayed, href: address('scheduled') },
    { label: 'Running', value: running, href: address('running') },
    { label: 'Failed', value: failed, tone: failed > 0 && 'bad', href: address('failed') },
    {
      label: 'Oldest waits',
      value: waits.length === 0 ? '–' : secondsText(Math.max(...waits)),
      tone: isLate && 'warn',
    },
    hasRecords && {
      label: 'Workers',
      value: workers.size,
      tone: workers.size === 0 && 'warn',
      href: address('workers'),
    },
  ]);
  return html`<h2 class="unseen">Key numbers</h2>${numbers}`;
}

function nextSchedules(schedules: readonly ScheduleListing[], { now }: PageContext): Html | undefined {
  const coming = schedules
    .filter((schedule) => schedule.next !== undefined && !isNeglected(schedule))
    .toSorted((a, b) => a.next!.getTime() - b.next!.getTime())
    .slice(0, COMING);
  if (coming.length === 0) return undefined;
  return html`<h2><a href="${address('schedules')}">What comes next</a></h2>${comingList(coming, now)}`;
}

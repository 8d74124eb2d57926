/** The first page: whether all is well, what is slow, and what comes next. */
import { keepsJobs } from '../../connections/driver';
import type { Figures } from '../../operations/figures/figures';
import type { QueueSnapshot, Snapshot } from '../../operations/snapshot';
import type { ScheduleListing } from '../../schedule/schedules';
import { address } from '../addresses';
import { type Finding, findingsIn, hasLateJobs, isNeglected, scheduleFindings, wellText } from '../health';
import { html, type Html } from '../html';
import { chartFigure } from '../parts/chart';
import { beginnings, figuresOf, jobTable, rateCharts, withoutSpans } from '../parts/figures';
import { type Period, periodIn, rangeLinks } from '../parts/period';
import { actionForm, pausedBadge, queueLink } from '../parts/links';
import { ACTIONS, keyNumbers, numberColumn, table } from '../parts/table';
import { counted, moment, numberText, secondsText, tenths } from '../parts/text';
import { readEach, schedulesOf, snapshotOf, type Seen } from '../readings';
import type { Page, PageContext } from '../view';
import { failureList, recentFailures } from './recent-failures';

/** How many problems are shown before one asks for the rest. */
const MOST_FINDINGS = 8;

/** How many of the next schedules are shown. */
const COMING = 5;

type SeenQueues = Seen<{ readonly snapshot: Snapshot; readonly figures: Figures | undefined }>;

export const overview: Page = async (context) => {
  const { manager, query } = context;
  const names = manager.connectionNames();
  const period = periodIn(query);
  const all = await readEach(names, names.length === 1, async (name) => ({
    snapshot: await snapshotOf(name, context),
    figures: await figuresOf(name, context, period),
  }));
  const [schedules, failures] = await Promise.all([schedulesOf(context), recentFailures(context)]);
  const snapshots = all.flatMap(({ found }) => found?.snapshot ?? []);
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
      rate: rateOf(all, snapshots, period),
      ...Object.fromEntries(all.map((seen, place) => [`queues-${place}`, queuesOf(seen, context)])),
      ...Object.fromEntries(
        all.map(({ connection, found }, place) => [
          `jobs-${place}`,
          jobTable(connection, found?.figures?.jobs ?? [], period.text),
        ]),
      ),
      coming: comingList(schedules, context),
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
  const away = all.flatMap(({ trouble }) =>
    trouble === undefined ? [] : [{ tone: 'bad' as const, text: html`${trouble}` }],
  );
  const told = [...away, ...findings];
  if (told.length === 0)
    return html`<p class="health good"><strong>All is well.</strong> <span class="soft">${wellText(snapshots)}</span></p>`;
  const item = ({ tone, text }: Finding): Html => html`<li class="${tone}">${text}</li>`;
  const [shown, rest] = [told.slice(0, MOST_FINDINGS), told.slice(MOST_FINDINGS)];
  const more = html`<details id="more-problems"><summary>and ${counted(rest.length, 'more problem')}</summary><ul class="health">${rest.map(item)}</ul></details>`;
  return html`<h2 class="unseen">Problems</h2><ul class="health">${shown.map(item)}</ul>${rest.length > 0 && more}`;
}

function numbersOf(snapshots: readonly Snapshot[]): Html {
  const queues = snapshots.flatMap((snapshot) => snapshot.queues);
  const sum = (of: (queue: QueueSnapshot) => number | undefined): number =>
    queues.reduce((total, queue) => total + (of(queue) ?? 0), 0);
  const workers = new Set(snapshots.flatMap((snapshot) => snapshot.workers ?? []).map(({ id }) => id));
  const failed = sum((queue) => queue.failed);
  const waits = queues.flatMap(({ oldestWait }) => oldestWait ?? []);
  const isLate = queues.some(hasLateJobs);
  const isCounted = queues.some(({ rate }) => rate !== undefined);
  const hasRecords = snapshots.some((snapshot) => snapshot.workers !== undefined);
  const numbers = keyNumbers([
    isCounted && { label: 'Jobs a minute', value: tenths(sum(({ rate }) => rate)) },
    { label: 'Waiting', value: sum(({ ready }) => ready) },
    { label: 'Delayed', value: sum(({ delayed }) => delayed), href: address('scheduled') },
    { label: 'Running', value: sum(({ running }) => running), href: address('running') },
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

function rateOf(all: readonly SeenQueues[], snapshots: readonly Snapshot[], period: Period): Html | undefined {
  const figures = all.flatMap(({ found }) => found?.figures ?? []);
  if (figures.length === 0) return undefined;
  const marks = beginnings(snapshots.flatMap(({ workers }) => workers ?? []));
  const charts = rateCharts(
    'rate',
    figures.map(({ total }) => total.spans),
  );
  return html`${rangeLinks('', {}, period)}<div class="charts">${charts.map((chart) => chartFigure({ ...chart, marks }))}</div>`;
}

function queuesOf({ connection, found, trouble }: SeenQueues, context: PageContext): Html {
  if (found === undefined) return html`<h2><bdi>${connection}</bdi></h2><p class="trouble">${trouble}</p>`;
  const { queues, otherQueues, isExact } = found.snapshot;
  const numbers = ['Ready', 'Delayed', 'Running', 'Failed', 'Oldest waits', 'A minute'];
  const shown = table({
    caption: html`Queues of <bdi>${connection}</bdi>${!isExact && html` <span class="soft">estimated: the store may be minutes behind</span>`}`,
    columns: ['Queue', ...numbers.map((label) => numberColumn(label)), ACTIONS],
    rows: queues.map((queue) => queueRow(connection, queue, context)),
  });
  return html`${shown}${otherQueues > 0 && html`<p class="soft">${counted(otherQueues, 'more queue')}: use onqueue monitor with their names to see them.</p>`}`;
}

function queueRow(connection: string, row: QueueSnapshot, context: PageContext): Html {
  const { queue, ready, delayed, running, failed, failures = 0, oldestWait, rate, isPaused, limit } = row;
  const button = {
    ...(isPaused ? { action: 'resume-queue', label: 'Resume' } : { action: 'pause-queue', label: 'Pause' }),
    fields: { connection, queue },
    subject: queue,
  };
  const link = (state: string, count: number): Html | string =>
    count === 0
      ? html`<span class="soft">0</span>`
      : html`<a href="${address('queue', { connection, queue, state })}">${numberText(count)}</a>`;
  return html`<tr data-key="${queue}"><th scope="row">${queueLink({ connection, queue })}${isPaused && html` ${pausedBadge(row, context)}`}${limit !== undefined && html` <span class="badge">at most ${numberText(limit)}</span>`}</th>
<td class="number">${link('ready', ready)}</td><td class="number">${link('delayed', delayed)}</td><td class="number">${link('running', running)}</td>
<td class="number">${failed !== undefined && link('failed', failed)}${failures > 0 && html`<br><span class="bad" title="Failures in the last five minutes, including jobs that were retried since">${numberText(failures)} in 5 min</span>`}</td>
<td class="number"><span class="${hasLateJobs(row) ? 'warn' : ''}">${secondsText(oldestWait)}</span></td>
<td class="number">${rate !== undefined && numberText(tenths(rate))}</td><td class="actions">${actionForm(button, context)}</td></tr>`;
}

function comingList(schedules: readonly ScheduleListing[], { now }: PageContext): Html | undefined {
  const coming = schedules
    .filter((schedule) => schedule.next !== undefined && !isNeglected(schedule))
    .toSorted((a, b) => a.next!.getTime() - b.next!.getTime())
    .slice(0, COMING);
  if (coming.length === 0) return undefined;
  const row = ({ name, next, declared }: ScheduleListing): Html =>
    html`<li><bdi>${name}</bdi> <span class="soft">${declared?.cadence}</span> ${moment(next!, now)}</li>`;
  return html`<h2><a href="${address('schedules')}">What comes next</a></h2><ol class="coming">${coming.map(row)}</ol>`;
}

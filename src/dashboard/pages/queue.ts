/** One queue: its state, its history, its lanes, and its jobs. */
import type { QueueManager } from '../../application/queue-manager';
import type { LaneState } from '../../connections/contract';
import type { LaneList } from '../../dispatch/queue-lane';
import type { QueueFigures } from '../../operations/figures/figures';
import { JOB_STATES, LISTED_STATES, remembersCompleted, type JobPage } from '../../operations/found-job';
import type { ListedJob, ListedState } from '../../operations/listed-job';
import type { QueueSnapshot } from '../../operations/snapshot';
import { isSilent, labelOf, runsOf, type WorkersRun } from '../../operations/worker-record';
import { address } from '../addresses';
import { neededField } from '../errors';
import { findingsIn } from '../health';
import { html, type Html } from '../html';
import type { Chart } from '../parts/chart';
import { chartsOf, classTable, figuresOf, periodIn, runCharts, withoutSpans } from '../parts/figures';
import { actionsCell, attemptsCell, jobTable } from '../parts/job-table';
import { actionForm, hiddenFields, pageLinks, pausedBadge, type Tab, tabs } from '../parts/links';
import { ACTIONS, keyNumbers, numberColumn, table } from '../parts/table';
import { errorLine, excerptOf, moment, numberText, secondsText, tenths } from '../parts/text';
import { isIncapable, readOr, snapshotOf } from '../readings';
import type { Page, PageContext } from '../view';

/** Jobs of one page. */
const PAGE = 50;

interface Place {
  readonly connection: string;
  readonly queue: string;
  readonly state: ListedState;
}

export const queue: Page = async (context) => {
  const { manager, lookout, query } = context;
  const place = placeIn(query, manager);
  const { connection, queue } = place;
  const snapshot = await snapshotOf(connection, context, queue);
  const period = periodIn(query);
  const figures = await figuresOf(connection, context, period, { queue });
  const after = query.get('after') ?? undefined;
  const list = () => manager.connection(connection).jobs(queue, { state: place.state, limit: PAGE, after });
  // Not all stores can list their jobs.
  const page = await readOr(() => lookout.see(`jobs ${context.here}`, list), undefined, isIncapable);
  const laneAfter = query.get('lane') ?? undefined;
  const listLanes = () => manager.connection(connection).lanes(queue, { after: laneAfter });
  const lanes = await readOr(() => lookout.see(`lanes ${context.here}`, listLanes), undefined, isIncapable);
  const [now] = snapshot.queues;
  const workers = snapshot.workers?.filter(({ queues }) => queues.includes(queue));
  // That no worker runs for a queue without jobs is said on the overview.
  const findings = findingsIn({ ...snapshot, workers }, false);
  const [known] = figures?.queues ?? [];
  return {
    title: queue,
    trail: [['Queues', address('all-queues')]],
    parts: {
      now: html`${findings.map(({ tone, text }) => html`<p class="finding ${tone}">${text}</p>`)}${nowOf(now!, place, context)}`,
      charts: known && chartsOf('queue', { ...place }, period, chartsIn(known), workers),
      lanes: lanes && laneList(lanes, place, query.get('lane'), context),
      jobs: jobList(page, now!, place, runsOf(workers ?? []), context),
      classes: classTable(connection, figures?.jobs ?? [], period.text, context),
    },
    data: {
      ...now,
      connection,
      state: place.state,
      ...page,
      ...(lanes !== undefined && { lanes: lanes.lanes }),
      figures: figures && {
        ...figures,
        total: undefined,
        queues: withoutSpans(figures.queues),
        jobs: withoutSpans(figures.jobs),
      },
    },
  };
};

/** @throws E_DASHBOARD_QUERY no queue is named */
function placeIn(query: URLSearchParams, manager: QueueManager): Place {
  const queue = query.get('queue') ?? '';
  if (queue === '') throw neededField('queue');
  const connection = query.get('connection') ?? manager.defaultConnection;
  const state = statesOf(manager, connection).find((each) => each === query.get('state')) ?? 'ready';
  return { connection, queue, state };
}

const statesOf = (manager: QueueManager, connection: string): readonly ListedState[] =>
  remembersCompleted(manager, manager.driver(connection)) ? LISTED_STATES : JOB_STATES;

function nowOf(now: QueueSnapshot, { connection, queue }: Place, context: PageContext): Html {
  const { ready, delayed, running, failed = 0, oldestWait, rate, isPaused, limit } = now;
  const fields = { connection, queue };
  const pause = (label: string, time?: string): Html | undefined => {
    const subject = time === undefined ? undefined : 'pause';
    return actionForm({ action: 'pause-queue', label, fields: { ...fields, for: time }, subject }, context);
  };
  const numbers = keyNumbers([
    rate !== undefined && { label: 'Jobs a minute', value: tenths(rate) },
    { label: 'Ready', value: ready },
    { label: 'Delayed', value: delayed },
    { label: limit === undefined ? 'Running' : `Running, at most ${numberText(limit)}`, value: running },
    now.failed !== undefined && {
      label: 'Failed',
      value: failed,
      tone: failed > 0 && 'bad',
      href: address('failed', fields),
    },
    { label: 'Oldest waits', value: oldestWait === undefined ? '–' : secondsText(oldestWait) },
  ]);
  const buttons = isPaused
    ? html`${pausedBadge(now, context)} ${actionForm({ action: 'resume-queue', label: 'Resume', fields }, context)}`
    : [pause('Pause'), pause('for 15 min', '15m'), pause('for 1 h', '1h')];
  const mayLimit = context.manager.driver(connection).control?.limit !== undefined;
  const limiting = mayLimit && actionForm({ action: 'limit-queue', label: 'Limit', fields }, context);
  return html`<div class="with-actions">${numbers}<div class="actions">${buttons}${limiting}</div></div>`;
}

function chartsIn({ samples, spans }: QueueFigures): readonly Chart[] {
  // Each has a scale of its own: thousands of delayed jobs would flatten the few that are ready.
  const counts = (id: string, title: string, series: Chart['series']): Chart => ({
    ...{ id, title, series },
    kind: 'lines',
    at: samples.map(({ at }) => at),
    text: numberText,
  });
  const ready = counts('ready-chart', 'Ready and running jobs', [
    { label: 'ready', tone: 'accent', values: samples.map(({ ready }) => Math.round(ready)) },
    { label: 'running', tone: 'soft', values: samples.map(({ reserved }) => Math.round(reserved)) },
  ]);
  const later = counts('delayed-chart', 'Delayed jobs', [
    { label: 'delayed', tone: 'warn', values: samples.map(({ delayed }) => Math.round(delayed)) },
  ]);
  return [...runCharts(spans), ready, later];
}

function jobList(
  page: JobPage | undefined,
  now: QueueSnapshot,
  { connection, queue, state }: Place,
  runs: readonly WorkersRun[],
  context: PageContext,
): Html {
  const place = (each: ListedState, from?: string): string =>
    address('queue', { connection, queue, state: each, after: from });
  const tab = (each: ListedState): Tab => {
    const count = countOf(now, each);
    const label = html`${each}${count !== undefined && html` <span class="soft">${numberText(count)}</span>`}`;
    return [label, place(each), each === state];
  };
  const states = tabs('Jobs by their state', statesOf(context.manager, connection).map(tab));
  if (page === undefined)
    return html`${states}<p class="empty">This store counts its ${state} jobs but cannot list them.</p>`;
  const after = context.query.get('after');
  const first = after === null ? undefined : place(state);
  if (page.jobs.length === 0)
    return html`${states}<p class="empty">${after === null ? emptyText(state) : 'There are no more.'}</p>${pageLinks(first, undefined)}`;
  // A store may announce a next page that is empty.
  const isAll = after === null && page.jobs.length >= (countOf(now, state) ?? Infinity);
  const next = page.next === undefined || isAll ? undefined : place(state, page.next);
  const cells = (job: ListedJob): Html => {
    const { at, createdAt, failedAt, completedAt, payload, error } = job;
    const when = completedAt ?? failedAt ?? (state === 'ready' ? createdAt : at);
    return html`<td>${state === 'running' ? sinceText(job, runs, context) : when && moment(when, context.now)}</td>${attemptsCell(job)}
<td class="line excerpt">${state === 'failed' ? html`<span class="bad"><bdi>${errorLine(error ?? '')}</bdi></span>` : payload !== undefined && excerptOf(payload)}</td>${actionsCell(job, context)}`;
  };
  const columns = [WHEN[state], numberColumn('Attempts'), state === 'failed' ? 'Error' : 'Data', ACTIONS];
  const named = { caption: `Jobs that are ${state}`, isCaptionUnseen: true };
  const shown = jobTable({ ...named, state, jobs: page.jobs, showsIds: true, columns, cells }, context);
  return html`${states}${shown}${pageLinks(first, next)}`;
}

/** Nobody counts the completed ones. */
const countOf = (now: QueueSnapshot, state: ListedState): number | undefined =>
  state === 'completed' ? undefined : now[state];

const emptyText = (state: ListedState): string =>
  state === 'failed' || state === 'completed' ? `No job of this queue has ${state}.` : `No job is ${state}.`;

const WHEN: Readonly<Record<ListedState, string>> = {
  ready: 'Dispatched',
  delayed: 'Ready',
  running: 'Since',
  failed: 'Failed',
  completed: 'Completed',
};

/** Since when, and where; of a job that no worker reports, until when it is leased. */
function sinceText({ id, queue, at }: ListedJob, runs: readonly WorkersRun[], { now }: PageContext): Html | undefined {
  const run = runs.find(({ job }) => job.id === id && job.queue === queue);
  if (run === undefined) return at && html`<span class="soft">lease ends</span> ${moment(at, now)}`;
  const { worker, job } = run;
  return html`${moment(job.since, now)} <span class="soft">on <bdi>${labelOf(worker)}</bdi></span>${isSilent(worker) && html` <span class="badge bad">silent</span>`}`;
}

/** Undefined if there is nothing to show. @param after where the shown page begins; null: the first one */
function laneList(
  { lanes, next }: LaneList,
  place: Place,
  after: string | null,
  context: PageContext,
): Html | undefined {
  if (lanes.length === 0 && after === null) return undefined;
  const { connection, queue } = place;
  const pageAt = (lane: string | undefined): string => address('queue', { connection, queue, lane });
  const busiest = lanes.toSorted((a, b) => b.held - a.held || b.inside - a.inside || (a.lane < b.lane ? -1 : 1));
  const shown = table({
    caption: 'Lanes',
    columns: [
      'Lane',
      numberColumn('In', 'Ready or running'),
      numberColumn('Held', 'Waiting until the lane has room'),
      numberColumn('May be in'),
      ACTIONS,
    ],
    rows: busiest.map((lane) => laneRow(lane, place, context)),
  });
  const first = after === null ? undefined : pageAt(undefined);
  return html`${shown}${pageLinks(first, next && pageAt(next), 'More lanes')}`;
}

function laneRow({ lane, inside, held, running, paused }: LaneState, place: Place, context: PageContext): Html {
  const about = { fields: { ...place, lane }, subject: lane };
  const button = paused
    ? actionForm({ action: 'resume-lane', label: 'Resume', ...about }, context)
    : actionForm({ action: 'pause-lane', label: 'Pause', ...about }, context);
  return html`<tr data-key="lane ${lane}"><th scope="row"><bdi>${lane}</bdi>${paused && html` <span class="badge warn">paused</span>`}</th>
<td class="number">${numberText(inside)}</td><td class="number">${numberText(held)}</td><td class="number">${numberText(running)}</td>
<td class="actions">${limitForm(lane, running, place, context)} ${button}</td></tr>`;
}

function limitForm(lane: string, running: number, place: Place, { viewer, here }: PageContext): Html | undefined {
  if (viewer.role !== 'operator') return undefined;
  return html`<form method="post" action="limit-lane" class="action">${hiddenFields({ ...place, lane, back: here })}<input type="number" name="running" value="${String(running)}" min="1" max="999999999" required aria-label="Limit of ${lane}" /> <button>Set limit<span class="unseen"> of ${lane}</span></button></form>`;
}

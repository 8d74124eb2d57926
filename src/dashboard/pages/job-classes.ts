/** The job classes, and one of them: how many of its jobs run, how long they take and wait, why they fail, its last runs, options and schedules. */
import type { QueueManager } from '../../application/queue-manager';
import type { Figures, RunFigures } from '../../operations/figures/figures';
import { keptRuns, type RunPage } from '../../operations/kept-runs';
import { NOTHING_CHOSEN } from '../../job/options';
import { BUILT_IN, type JobDefinition } from '../../job/registry';
import type { ScheduleListing } from '../../schedule/schedules';
import { address } from '../addresses';
import { neededField } from '../errors';
import { type ErrorGroup, errorGroups } from '../../application/failed/error-groups';
import { html, type Html } from '../html';
import { classFacts, optionFacts } from '../job/options';
import { failureTable, lookAtFailed } from '../parts/failures';
import {
  chartsOf,
  classTable,
  figuresOf,
  type Period,
  periodIn,
  rangeLinks,
  runCharts,
  withoutSpans,
} from '../parts/figures';
import { classLink, pageLinks, type Tab, tabs } from '../parts/links';
import { runTable, unkeptNote } from '../parts/run-table';
import { factList, keyNumbers } from '../parts/table';
import { comingList, counted, numberText, secondsText, tenths, troublesOf } from '../parts/text';
import { readEach, schedulesOf, workersOf } from '../readings';
import type { Page, PageContext } from '../view';

/** The lists of jobs over all queues, which one entry of the navigation leads to. */
export const JOB_LISTS = {
  'job-classes': 'Classes',
  running: 'Running',
  scheduled: 'Scheduled',
  retrying: 'Retrying',
  runs: 'Runs',
} as const;

export function jobTabs(shown: keyof typeof JOB_LISTS): Html {
  const all = Object.entries(JOB_LISTS).map(([page, label]): Tab => [label, address(page), page === shown]);
  return tabs('Lists of jobs', all);
}

/** Classes of one connection. */
const MOST = 100;

export const jobs: Page = async (context) => {
  const { manager, query } = context;
  const period = periodIn(query);
  const names = manager.connectionNames();
  const all = await readEach(names, (name) => figuresOf(name, context, period));
  const seen = new Set(all.flatMap(({ found }) => found?.jobs.map(({ job }) => job) ?? []));
  const declared = manager.registry.all().map(({ name }) => name);
  const others = declared.filter((name) => !seen.has(name) && !name.startsWith(BUILT_IN)).toSorted();
  const lists = all.map((one): [string, Html | undefined] => {
    const { connection, found, trouble } = one;
    if (trouble !== undefined) return [`classes-${connection}`, troublesOf([one])];
    const shown = classTable(connection, found?.jobs ?? [], period.text, context, MOST);
    const heading = names.length > 1 && html`<h2><bdi>${connection}</bdi></h2>`;
    return [`classes-${connection}`, shown && html`${heading}${shown}`];
  });
  return {
    title: 'Jobs',
    parts: {
      tabs: html`${jobTabs('job-classes')}${rangeLinks('job-classes', {}, period)}`,
      ...Object.fromEntries(lists),
      'other-classes': otherClasses(others, period.text, seen.size === 0),
    },
    data: {
      classes: all.map(({ connection, found }) => ({ connection, jobs: withoutSpans(found?.jobs ?? []) })),
      others,
    },
  };
};

function otherClasses(names: readonly string[], period: string, isAlone: boolean): Html | undefined {
  if (names.length === 0)
    return isAlone ? html`<p class="empty">No job has run ${period}, and no class is declared here.</p>` : undefined;
  const shown = names.slice(0, MOST).map((name) => html`<li>${classLink({ name })}</li>`);
  return html`<h2>Nothing ran ${period}</h2><ul class="names columns">${shown}</ul>`;
}

/** Runs that are shown here. */
const LAST = 10;
/** Runs of which a comparison says something. */
const ENOUGH = 20;

export const jobClass: Page = async (context) => {
  const { manager, lookout, query } = context;
  const given = query.get('name') ?? '';
  if (given === '') throw neededField('name');
  const definition = manager.registry.find(given);
  const name = definition?.name ?? given;
  const connection = connectionIn(query, definition, manager);
  const period = periodIn(query);
  const [figures, workers, runs, look, schedules] = await Promise.all([
    figuresOf(connection, context, period, { job: name }),
    workersOf(connection, context),
    lookout.see(JSON.stringify(['runs of', connection, name]), () =>
      keptRuns(manager, [connection], { name }, LAST, undefined),
    ),
    lookAtFailed(context),
    schedulesOf(context),
  ]);
  const before = await dayBefore(figures, connection, name, period, context);
  const own = look.jobs.filter((job) => job.name === name && job.connection === connection);
  const groups = errorGroups(own);
  const running = workers?.flatMap((worker) => (worker.connection === connection ? worker.running : []));
  const count = running?.filter((job) => job.name === name).length;
  const sent = schedules.filter(({ declared }) => declared?.job === name);
  const isKnown = definition !== undefined || (figures?.jobs.length ?? 0) + own.length + runs.runs.length > 0;
  if (!isKnown) return unknownClass(name, connection);
  return {
    title: name,
    trail: [['Jobs', address('job-classes')]],
    parts: {
      now: html`${placeOf(name, connection, definition, context)}${figures && numbersOf(figures.total, count, name)}${comparison(figures?.total, before)}`,
      charts: figures && chartsOf('job-class', { name, connection }, period, runCharts(figures.total.spans), workers),
      failures: failuresOf(groups, look.isCut, context),
      runs: runsOf(runs, { name, connection }, context),
      queues: classTable(connection, figures?.jobs ?? [], period.text, context),
      schedules: schedulesPart(sent, context),
      options: definition && optionsOf(definition, context),
    },
    data: {
      name,
      connection,
      running: count,
      figures: figures && withoutSpans([figures.total])[0],
      dayBefore: before,
      failures: groups.map(({ error, count: times, newest }) => ({ error, count: times, newestId: newest.id })),
      runs: runs.runs,
      schedules: sent.map((schedule) => schedule.name),
    },
  };
};

/** @throws E_UNKNOWN_CONNECTION */
function connectionIn(query: URLSearchParams, definition: JobDefinition | undefined, manager: QueueManager): string {
  const named = query.get('connection') || undefined;
  if (named !== undefined) return manager.settings(named).name;
  const own = definition?.options.connection;
  return own !== undefined && manager.connectionNames().includes(own) ? own : manager.defaultConnection;
}

function unknownClass(name: string, connection: string) {
  return {
    title: 'No such class',
    status: 404,
    parts: {
      unknown: html`<p class="empty">No class <bdi>${name}</bdi> is declared here, and nothing is known of such jobs on <bdi>${connection}</bdi>.
<a href="${address('job-classes')}">All classes</a>, or <a href="${address('search', { text: name })}">search for it</a>.</p>`,
    },
    data: { name, connection },
  };
}

function placeOf(
  name: string,
  connection: string,
  definition: JobDefinition | undefined,
  { manager }: PageContext,
): Html {
  const all = manager.connectionNames();
  const tab = (each: string): Tab => [each, address('job-class', { name, connection: each }), each === connection];
  const file = definition?.file;
  return html`${all.length > 1 && tabs('Connections', all.map(tab))}${
    definition === undefined
      ? html`<p class="soft">No class with this name is declared here.</p>`
      : file !== undefined && html`<p class="soft mono">${file}</p>`
  }`;
}

function numbersOf(
  { rate, completed, failed, released, run, wait }: RunFigures,
  running: number | undefined,
  name: string,
): Html {
  return keyNumbers([
    { label: 'Jobs a minute', value: tenths(rate) },
    running !== undefined && { label: 'Running', value: running, href: address('running', { name }) },
    { label: 'Completed', value: completed, href: address('runs', { name, outcome: 'completed' }) },
    { label: 'Failed', value: failed, tone: failed > 0 && 'bad', href: address('failed', { name }) },
    { label: 'Released', value: released },
    { label: 'p50', value: secondsText(run?.p50) || '–' },
    { label: 'p95', value: secondsText(run?.p95) || '–' },
    { label: 'Wait p95', value: secondsText(wait?.p95) || '–' },
  ]);
}

/** The 24 hours before the shown time. Undefined if that is longer itself, or they are not kept any more. */
async function dayBefore(
  figures: Figures | undefined,
  connection: string,
  job: string,
  { until }: Period,
  context: PageContext,
): Promise<RunFigures | undefined> {
  if (figures?.total.run === undefined) return undefined;
  const { since } = figures;
  const length = (until?.getTime() ?? figures.until.getTime()) - since.getTime();
  if (length > 86_400_000 * 1.5) return undefined;
  // Older figures are kept by three hours: the last of these must not contain what it is compared with.
  const end = new Date(Math.floor(since.getTime() / 10_800_000) * 10_800_000);
  const day = await figuresOf(connection, context, { within: '24h', until: end, fresh: 900_000 }, { job });
  const { spans: _spans, ...told } = day?.total ?? {};
  return day && (told as RunFigures);
}

/** Undefined if too few runs were counted, or they took about as long. */
function comparison(now: RunFigures | undefined, before: RunFigures | undefined): Html | undefined {
  const [own, old] = [now?.run, before?.run];
  if (own === undefined || old === undefined || own.count < ENOUGH || old.count < ENOUGH) return undefined;
  const ratio = own.p95 / old.p95;
  if (!(ratio >= 1.5 || ratio <= 0.6)) return undefined;
  return html`<p class="finding ${ratio >= 2 ? 'warn' : ''}">p95 is ${numberText(tenths(ratio))} × that of the day before: ${secondsText(own.p95)} after ${secondsText(old.p95)}.</p>`;
}

function failuresOf(groups: readonly ErrorGroup[], isCut: boolean, context: PageContext): Html | undefined {
  if (groups.length === 0) return undefined;
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  const among = isCut ? 'among the newest failed jobs' : 'waiting to be retried or forgotten';
  return failureTable(
    html`Failures by error <span class="soft">${counted(count, 'job')} ${among}</span>`,
    groups,
    context,
  );
}

function runsOf(
  { runs, next }: RunPage,
  query: { readonly name: string; readonly connection: string },
  context: PageContext,
): Html {
  const more = pageLinks(undefined, next && address('runs', query), 'More runs');
  if (runs.length === 0)
    return html`<h2>Last runs</h2><p class="empty">No run of this class is kept.</p>${unkeptNote(context)}${more}`;
  return html`${runTable(html`Last runs`, runs.slice(0, LAST), context)}${unkeptNote(context)}${more}`;
}

function schedulesPart(schedules: readonly ScheduleListing[], { now }: PageContext): Html | undefined {
  if (schedules.length === 0) return undefined;
  return html`<h2><a href="${address('schedules')}">Schedules</a></h2>${comingList(schedules, now)}`;
}

function optionsOf(definition: JobDefinition, { now }: PageContext): Html {
  const facts = [...optionFacts(NOTHING_CHOSEN, definition, now), ...classFacts(definition)];
  return html`<h2>Options</h2>${factList(facts)}`;
}

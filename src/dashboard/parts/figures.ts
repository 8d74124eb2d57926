/** Figures of the past: how far back a page looks, the rate of jobs, how long they take and wait, and the figures of each job class. */
import type { Milliseconds } from '../../base/clock';
import { spanText } from '../../base/span';
import type { FigureOptions, Figures, JobFigures, RunFigures, RunSpan } from '../../operations/figures/figures';
import type { RunningWorker } from '../../operations/worker-record';
import { address, type Query } from '../addresses';
import { neededField } from '../errors';
import { html, type Html } from '../html';
import { isUnrecorded, readOr } from '../readings';
import type { PageContext } from '../view';
import { type Chart, chartFigure } from './chart';
import { classLink, queueLink, type Tab, tabs } from './links';
import { sortable, table } from './table';
import { numberText, secondsText } from './text';

/** Each with its name, and for how long what was read of it stays fresh: workers bring new figures every ten seconds, and old ones rarely change. */
const RANGES = {
  '15m': ['15 min', 20_000],
  '1h': ['hour', 20_000],
  '24h': ['day', 60_000],
  '7d': ['week', 300_000],
  '30d': ['month', 300_000],
} as const;

type Range = keyof typeof RANGES;

const LONGEST: Milliseconds = 30 * 86_400_000;

export interface Period {
  /** `1h` */
  readonly within: string;
  /** Undefined: until now. */
  readonly until: Date | undefined;
  /** `in the last hour` */
  readonly text: string;
  readonly fresh: Milliseconds;
}

/** @throws E_DASHBOARD_QUERY the address names no such time */
export function periodIn(query: URLSearchParams): Period {
  const { from, to } = bounds(query);
  if (from === undefined || to === undefined) {
    const within = query.get('within') ?? '1h';
    if (!Object.hasOwn(RANGES, within)) throw neededField('within');
    const [name, fresh] = RANGES[within as Range];
    return { within, until: undefined, text: `in the last ${name}`, fresh };
  }
  if (to <= from) throw neededField('to');
  if (to - from > LONGEST) throw neededField('from');
  return {
    within: `${Math.ceil((to - from) / 1000)}s`,
    until: new Date(to),
    text: `in ${spanText(to - from)}`,
    fresh: RANGES['7d'][1],
  };
}

/** The moments in the address. @throws E_DASHBOARD_QUERY they are none */
export function bounds(query: URLSearchParams): { readonly from?: Milliseconds; readonly to?: Milliseconds } {
  const moments = (['from', 'to'] as const).flatMap((field) => {
    const given = query.get(field) ?? '';
    if (given === '') return [];
    // As <input type="datetime-local"> writes it, it has no zone: everything is in UTC.
    const at = Date.parse(/T[\d:.]+$/.test(given) ? `${given}Z` : given);
    if (Number.isNaN(at)) throw neededField(field);
    return [[field, at] as const];
  });
  return Object.fromEntries(moments);
}

/** @param query the other fields of the page's address */
export function rangeLinks(page: string, query: Query, { within, until }: Period): Html {
  const link = ([range, [name]]: readonly [string, readonly [string, number]]): Tab => [
    name,
    address(page, { ...query, within: range }),
    until === undefined && range === within,
  ];
  return tabs('How far the charts look back', Object.entries(RANGES).map(link), 'ranges');
}

/** Undefined if the connection has no figures. */
export async function figuresOf(
  connection: string,
  { manager, lookout }: PageContext,
  { within, until, fresh }: Pick<Period, 'within' | 'until' | 'fresh'>,
  only: Pick<FigureOptions, 'queue' | 'job'> = {},
): Promise<Figures | undefined> {
  if (manager.configuration.metrics === false) return undefined;
  const read = (): Promise<Figures> =>
    manager.connection(connection).figures({ within: within as `${number}s`, until, spans: true, ...only });
  const subject = JSON.stringify(['figures', within, until, connection, only]);
  return readOr(() => lookout.see(subject, read, fresh), undefined, isUnrecorded);
}

/** For programs, which ask for the spans of figures themselves. */
export function withoutSpans(figures: readonly { readonly spans?: unknown }[]): readonly object[] {
  return figures.map(({ spans: _spans, ...figure }) => figure);
}

/** Failures have a scale of their own: a few among thousands would not be seen. @param all the spans of several queues, which are added up */
export function rateCharts(all: readonly (readonly RunSpan[] | undefined)[]): readonly Chart[] {
  const byMoment = new Map<number, { completed: number; failed: number }>();
  for (const { at, completed, failed } of all.flatMap((spans) => spans ?? [])) {
    const sum = byMoment.get(at.getTime()) ?? { completed: 0, failed: 0 };
    byMoment.set(at.getTime(), { completed: sum.completed + completed, failed: sum.failed + failed });
  }
  const moments = [...byMoment].toSorted(([a], [b]) => a - b);
  // Spans are longer the further one looks back.
  const minutes = moments.length < 2 ? 1 : (moments[1]![0] - moments[0]![0]) / 60_000;
  const chart = (key: 'completed' | 'failed', title: string, tone: 'accent' | 'bad'): Chart => ({
    id: `rate-${key}`,
    title,
    kind: 'bars',
    at: moments.map(([at]) => new Date(at)),
    series: [{ label: key, tone, values: moments.map(([, sums]) => sums[key] / minutes) }],
    text: numberText,
  });
  return [chart('completed', 'Completed a minute', 'accent'), chart('failed', 'Failed a minute', 'bad')];
}

/** How many jobs ran, how long they took, and how long they waited. */
export function runCharts(spans: readonly RunSpan[] = []): readonly Chart[] {
  return [...rateCharts([spans]), timeChart('run', spans), timeChart('wait', spans)];
}

function timeChart(what: 'run' | 'wait', spans: readonly RunSpan[]): Chart {
  return {
    id: `${what}-chart`,
    title: what === 'run' ? 'How long runs take' : 'How long jobs wait',
    kind: 'lines',
    at: spans.map(({ at }) => at),
    series: [
      { label: 'p95', tone: 'accent', values: spans.map((span) => span[what]?.p95) },
      { label: 'p50', tone: 'soft', values: spans.map((span) => span[what]?.p50) },
    ],
    text: (value) => spanText(value * 1000),
  };
}

/** Where the workers that run now began, which a new version of the program makes them do: marks for charts. */
function beginnings(workers: readonly RunningWorker[] | undefined): Chart['marks'] {
  const byMinute = new Map(
    (workers ?? []).map(({ since, version }) => [Math.floor(since.getTime() / 60_000), version]),
  );
  return [...byMinute].map(([minute, version]) => ({
    at: new Date(minute * 60_000),
    label: `workers began, with Onqueue ${version}`,
  }));
}

/** Charts of a period, below links to others. @param query the other fields of the page's address */
export function chartsOf(
  page: string,
  query: Query,
  period: Period,
  charts: readonly Chart[],
  workers: readonly RunningWorker[] | undefined,
): Html {
  const marks = beginnings(workers);
  return html`${rangeLinks(page, query, period)}<div class="charts">${charts.map((chart) => chartFigure({ ...chart, marks }))}</div>`;
}

/** How many classes are shown. */
const MOST = 15;

/** The classes that took the most time come first, unless a column is chosen. @param most how many are shown */
export function classTable(
  connection: string,
  jobs: readonly JobFigures[],
  period: string,
  context: PageContext,
  most = MOST,
): Html | undefined {
  if (jobs.length === 0) return undefined;
  const timeOf = ({ run }: RunFigures): number => (run === undefined ? 0 : run.count * run.mean);
  const { headings, order } = sortable<JobFigures>(
    {
      job: ['Job', undefined],
      completed: ['Completed', ({ completed }) => completed],
      failed: ['Failed', ({ failed }) => failed],
      released: ['Released', ({ released }) => released],
      p50: ['p50', ({ run }) => run?.p50 ?? 0],
      p95: ['p95', ({ run }) => run?.p95 ?? 0],
      wait: ['Wait p95', ({ wait }) => wait?.p95 ?? 0],
    },
    context,
  );
  const shown = order(jobs.toSorted((a, b) => timeOf(b) - timeOf(a))).slice(0, most);
  const row = ({ queue, job, completed, failed, released, run, wait }: JobFigures): Html =>
    html`<tr data-key="${`${queue} ${job}`}"><th scope="row">${classLink({ connection, name: job })} <span class="soft">in ${queueLink({ connection, queue })}</span></th>
<td class="number">${numberText(completed)}</td><td class="number">${failed > 0 ? html`<a class="bad" href="${address('failed', { connection, queue, name: job })}">${numberText(failed)}</a>` : '0'}</td><td class="number">${numberText(released)}</td>
<td class="number">${secondsText(run?.p50)}</td><td class="number">${secondsText(run?.p95)}</td><td class="number">${secondsText(wait?.p95)}</td></tr>`;
  return table({
    caption: html`Classes <span class="soft">${period}, p95: 95 of 100 took no longer${jobs.length > most && `; ${most} of ${jobs.length}`}</span>`,
    columns: headings,
    rows: shown.map(row),
  });
}

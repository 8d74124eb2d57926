/** Figures of the past: the rate of jobs, how long they take and wait, and the figures of each job class. */
import { spanText } from '../../base/span';
import type { FigureOptions, Figures, JobFigures, RunFigures, RunSpan } from '../../operations/figures/figures';
import type { RunningWorker } from '../../operations/worker-record';
import { address } from '../addresses';
import { html, type Html } from '../html';
import { isUnrecorded, readOr } from '../readings';
import type { PageContext } from '../view';
import type { Chart } from './chart';
import { classLink, queueLink } from './links';
import type { Period } from './period';
import { sortable, table } from './table';
import { numberText, secondsText } from './text';

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
export function rateCharts(id: string, all: readonly (readonly RunSpan[] | undefined)[]): readonly Chart[] {
  const byMoment = new Map<number, { completed: number; failed: number }>();
  for (const { at, completed, failed } of all.flatMap((spans) => spans ?? [])) {
    const sum = byMoment.get(at.getTime()) ?? { completed: 0, failed: 0 };
    byMoment.set(at.getTime(), { completed: sum.completed + completed, failed: sum.failed + failed });
  }
  const moments = [...byMoment].toSorted(([a], [b]) => a - b);
  // Spans are longer the further one looks back.
  const minutes = moments.length < 2 ? 1 : (moments[1]![0] - moments[0]![0]) / 60_000;
  const chart = (key: 'completed' | 'failed', title: string, tone: 'accent' | 'bad'): Chart => ({
    id: `${id}-${key}`,
    title,
    kind: 'bars',
    at: moments.map(([at]) => new Date(at)),
    series: [{ label: key, tone, values: moments.map(([, sums]) => sums[key] / minutes) }],
    text: numberText,
  });
  return [chart('completed', 'Completed a minute', 'accent'), chart('failed', 'Failed a minute', 'bad')];
}

/** @param what of the spans */
export function timeChart(what: 'run' | 'wait', spans: readonly RunSpan[]): Chart {
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
export function beginnings(workers: readonly RunningWorker[] | undefined): Chart['marks'] {
  const byMinute = new Map(
    (workers ?? []).map(({ since, version }) => [Math.floor(since.getTime() / 60_000), version]),
  );
  return [...byMinute].map(([minute, version]) => ({
    at: new Date(minute * 60_000),
    label: `workers began, with Onqueue ${version}`,
  }));
}

/** How many classes are shown. */
const MOST = 15;

/** The classes that took the most time come first, unless a column is chosen. @param most how many are shown */
export function jobTable(
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

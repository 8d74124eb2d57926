/** Figures of the past: how far back a page looks, the rate of jobs, and the figures of each job class. */
import type { Figures, JobFigures, RunSpan } from '../../operations/figures/figures';
import { address, type Query } from '../addresses';
import { html, type Html } from '../html';
import { isUnrecorded, readOr } from '../readings';
import type { PageContext } from '../view';
import type { Chart } from './chart';
import { queueLink } from './links';
import { numberColumn, table } from './table';
import { numberText, secondsText } from './text';

const RANGES = { '1h': 'hour', '24h': 'day', '7d': 'week' } as const;

type Range = keyof typeof RANGES;

/** Milliseconds for which figures stay fresh: workers bring new ones every ten seconds, and old ones rarely change. */
const FRESH: Readonly<Record<Range, number>> = { '1h': 20_000, '24h': 60_000, '7d': 300_000 };

/** `hour` */
export const rangeName = (range: Range): string => RANGES[range];

export function rangeIn(query: URLSearchParams): Range {
  const asked = query.get('within') ?? '';
  return Object.hasOwn(RANGES, asked) ? (asked as Range) : '1h';
}

/** @param query the other fields of the page's address */
export function rangeLinks(page: string, query: Query, chosen: Range): Html {
  const link = ([range, name]: readonly [string, string]): Html =>
    html`<a href="${address(page, { ...query, within: range })}"${range === chosen && html` aria-current="true"`}>${name}</a>`;
  return html`<nav class="ranges" aria-label="How far the charts look back">${Object.entries(RANGES).map(link)}</nav>`;
}

/** Undefined if the connection has no figures. */
export async function figuresOf(
  connection: string,
  { manager, lookout, query }: PageContext,
  queue?: string,
): Promise<Figures | undefined> {
  if (manager.configuration.metrics === false) return undefined;
  const within = rangeIn(query);
  const read = (): Promise<Figures> => manager.connection(connection).figures({ within, spans: true, queue });
  const subject = `figures ${within} ${connection} ${queue ?? ''}`;
  return readOr(() => lookout.see(subject, read, FRESH[within]), undefined, isUnrecorded);
}

/** For programs, which ask for the spans of figures themselves. */
export function withoutSpans(figures: readonly { readonly spans?: unknown }[]): readonly object[] {
  return figures.map(({ spans: _spans, ...figure }) => figure);
}

/** @param all the spans of several queues, which are added up */
export function rateChart(id: string, all: readonly (readonly RunSpan[] | undefined)[]): Chart {
  const byMoment = new Map<number, { completed: number; failed: number }>();
  for (const { at, completed, failed } of all.flatMap((spans) => spans ?? [])) {
    const sum = byMoment.get(at.getTime()) ?? { completed: 0, failed: 0 };
    byMoment.set(at.getTime(), { completed: sum.completed + completed, failed: sum.failed + failed });
  }
  const moments = [...byMoment].toSorted(([a], [b]) => a - b);
  // Spans are longer the further one looks back.
  const minutes = moments.length < 2 ? 1 : (moments[1]![0] - moments[0]![0]) / 60_000;
  return {
    id,
    title: 'Jobs a minute',
    kind: 'bars',
    at: moments.map(([at]) => new Date(at)),
    series: [
      { label: 'completed', tone: 'accent', values: moments.map(([, { completed }]) => completed / minutes) },
      { label: 'failed', tone: 'bad', values: moments.map(([, { failed }]) => failed / minutes) },
    ],
    text: numberText,
  };
}

/** How many classes are shown. */
const MOST = 15;

/** The classes that took the most time come first. */
export function jobTable(connection: string, jobs: readonly JobFigures[], range: string): Html | undefined {
  if (jobs.length === 0) return undefined;
  const timeOf = ({ run }: JobFigures): number => (run === undefined ? 0 : run.count * run.mean);
  const shown = jobs.toSorted((a, b) => timeOf(b) - timeOf(a)).slice(0, MOST);
  const row = ({ queue, job, completed, failed, released, run, wait }: JobFigures): Html =>
    html`<tr data-key="${`${queue} ${job}`}"><th scope="row"><bdi>${job}</bdi></th><td>${queueLink({ connection, queue })}</td>
<td class="number">${numberText(completed)}</td><td class="number">${failed > 0 ? html`<a class="bad" href="${address('failed', { connection, queue, name: job })}">${numberText(failed)}</a>` : '0'}</td><td class="number">${numberText(released)}</td>
<td class="number">${secondsText(run?.mean)}</td><td class="number">${secondsText(run?.p95)}</td><td class="number">${secondsText(wait?.p95)}</td></tr>`;
  return table({
    caption: html`Jobs <span class="soft">in the last ${range}, most time first${jobs.length > MOST && `, ${MOST} of ${jobs.length}`}</span>`,
    columns: [
      'Job',
      'Queue',
      ...['Completed', 'Failed', 'Released', 'Mean'].map((label) => numberColumn(label)),
      numberColumn('p95', '95 of 100 took no longer'),
      numberColumn('Wait p95', '95 of 100 waited no longer'),
    ],
    rows: shown.map(row),
  });
}

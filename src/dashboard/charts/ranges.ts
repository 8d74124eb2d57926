/** How far back charts look, as requested in the page's address: `?within=24h`. */
import type { Figures } from '../../operations/figures/figures';
import { address, type Query } from '../addresses';
import { html, type Html } from '../html';
import { isUnrecorded, readOr } from '../troubles';
import type { PageContext } from '../view';

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

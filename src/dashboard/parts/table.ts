/** Tables, lists of facts, and the few numbers that matter most. */
import { address } from '../addresses';
import { html, Html, type Shown } from '../html';
import type { PageContext } from '../view';
import { numberText } from './text';

export interface Table {
  readonly caption: Shown;
  /** Only for screen readers, because something above the table says the same. */
  readonly isCaptionUnseen?: boolean;
  /** Headings; or whole cells for those that are more than a text. */
  readonly columns: readonly Shown[];
  readonly rows: readonly Html[];
}

export function table({ caption, isCaptionUnseen, columns, rows }: Table): Html {
  const heading = (column: Shown): Shown =>
    typeof column === 'string' ? html`<th scope="col">${column}</th>` : column;
  const headings = columns.filter((column) => column !== undefined && column !== false).map(headingText);
  return html`<table><caption${isCaptionUnseen === true && html` class="unseen"`}>${caption}</caption>
<thead><tr>${columns.map(heading)}</tr></thead>
<tbody>${rows.map((row) => Html.anchored(Html.withHeadings(row, headings)))}</tbody></table>`;
}

/** Empty if it is more than a text. */
function headingText(column: Shown): string {
  if (column instanceof Html) return /^<th[^>]*>(?:<a [^>]*>)?([^<&]+)(?:<\/a>)?<\/th>$/.exec(column.text)?.[1] ?? '';
  return typeof column === 'string' ? column : '';
}

/** @param title what the numbers mean */
export function numberColumn(label: string, title?: string): Html {
  return html`<th scope="col" class="number"${title !== undefined && html` title="${title}"`}>${label}</th>`;
}

/** A heading, and by what its column is sorted, the most first. Undefined: as the rows come. */
type SortedColumn<Row> = readonly [label: string, value: ((row: Row) => number) | undefined];

/** Columns that a link sorts, so that it works without scripts; the first one is the order in which the rows come. */
export function sortable<Row>(columns: Readonly<Record<string, SortedColumn<Row>>>, { query, here }: PageContext) {
  const [usual = ''] = Object.keys(columns);
  const asked = query.get('sort') ?? usual;
  const by = Object.hasOwn(columns, asked) ? asked : usual;
  const [page = ''] = here.split('?', 1);
  const heading = ([key, [label, value]]: readonly [string, SortedColumn<Row>]): Html => {
    const to = address(page === './' ? '' : page, { ...Object.fromEntries(query), sort: key });
    const order = value === undefined ? 'ascending' : 'descending';
    return html`<th scope="col"${value !== undefined && html` class="number"`}${key === by && html` aria-sort="${order}"`}><a href="${to}">${label}</a></th>`;
  };
  const value = columns[by]?.[1];
  return {
    headings: Object.entries(columns).map(heading),
    order: (rows: readonly Row[]): readonly Row[] =>
      value === undefined ? rows : rows.toSorted((a, b) => value(b) - value(a)),
  };
}

/** The column of buttons. */
export const ACTIONS = html`<th scope="col"><span class="unseen">Actions</span></th>`;

/** Undefined or false: there is no such fact. */
export type Fact = readonly [term: string, fact: Shown];

/** Undefined if there are no facts. @param isWide each has a line of its own */
export function factList(facts: readonly Fact[], isWide = false): Html | undefined {
  const known = facts.filter(([, fact]) => fact !== undefined && fact !== false);
  if (known.length === 0) return undefined;
  const row = ([term, fact]: Fact): Html => html`<div><dt>${term}</dt><dd>${fact}</dd></div>`;
  return html`<dl class="${isWide ? 'facts wide' : 'facts'}">${known.map(row)}</dl>`;
}

export function idFact(id: string): Fact {
  return [
    'Id',
    html`<span class="mono"><bdi>${id}</bdi></span> <button type="button" class="quiet" data-copy="${id}" aria-label="Copy the id">Copy</button>`,
  ];
}

/** The few numbers that matter most. */
interface KeyNumber {
  readonly label: string;
  readonly value: string | number;
  readonly tone?: 'good' | 'warn' | 'bad' | false | undefined;
  /** Where to see more of it. */
  readonly href?: string | false | undefined;
}

/** @param numbers false: it is unknown */
export function keyNumbers(numbers: readonly (KeyNumber | false)[]): Html {
  const one = ({ label, value, tone, href }: KeyNumber): Html => {
    const text = typeof value === 'number' ? numberText(value) : value;
    return html`<div><dt>${label}</dt><dd${tone && html` class="${tone}"`}>${href ? html`<a href="${href}">${text}</a>` : text}</dd></div>`;
  };
  return html`<dl class="key-numbers">${numbers.filter((number) => number !== false).map(one)}</dl>`;
}

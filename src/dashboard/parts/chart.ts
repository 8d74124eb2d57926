/**
 * A chart over time: an SVG that stretches to the available width, with its labels around it as text, and a table of its values
 * below, which the script shows one by one under the pointer and by the arrow keys.
 */
import { html, type Html } from '../html';
import { numberColumn, table } from './table';

interface Series {
  /** `completed` */
  readonly label: string;
  readonly tone: 'accent' | 'bad' | 'warn' | 'soft';
  /** One value for each moment. Undefined if unknown. */
  readonly values: readonly (number | undefined)[];
}

export interface Chart {
  /** Unique on its page. */
  readonly id: string;
  /** What it shows, with its unit: `Jobs a minute`. */
  readonly title: string;
  readonly at: readonly Date[];
  readonly series: readonly Series[];
  /** `bars`: stacked. */
  readonly kind: 'bars' | 'lines';
  /** Formats a value with its unit. */
  readonly text: (value: number) => string;
  /** Moments at which something else happened. */
  readonly marks?: readonly { readonly at: Date; readonly label: string }[] | undefined;
}

/** Height of the SVG; it is stretched, so only ratios count. */
const HEIGHT = 100;
/** Width of each moment. */
const WIDTH = 10;
/** Distances of an axis' marks, times a power of ten. */
const STEPS = [1, 2, 2.5, 5, 10];
/** How many moments are labelled below the chart. */
const LABELS = 5;

export function chartFigure(chart: Chart): Html {
  const { id, title, at, series, kind } = chart;
  const known = series.flatMap(({ values }) => values).some((value) => value !== undefined && value > 0);
  if (!known)
    return html`<div class="chart"><p class="title">${title}</p><p class="empty">Nothing in this period.</p></div>`;
  // Half a job never fails.
  const isWhole = series.every(({ values }) => values.every((value) => Number.isInteger(value ?? 0)));
  const ticks = ticksUpTo(Math.max(...at.map((_, place) => heightAt(chart, place))), isWhole);
  const top = ticks.at(-1)!;
  const width = at.length * WIDTH;
  const y = (value: number): string => (HEIGHT - (value / top) * HEIGHT).toFixed(1);
  const grid = ticks.map((tick) => `M0 ${y(tick)}H${width}`).join('');
  const drawn = kind === 'bars' ? bars(chart, top) : series.map((one) => line(one, y));
  return html`<div class="chart" id="${id}" tabindex="0" role="group" aria-label="${summary(chart)}">
<p class="title">${title}${series.length > 1 && html`<span class="legend">${series.map(({ label, tone }) => html`<span class="tone-${tone}">${label}</span>`)}</span>`}</p>
<p class="readout" aria-live="polite" data-own></p>
<div class="scale" aria-hidden="true">${ticks.toReversed().map((tick) => html`<span>${chart.text(tick)}</span>`)}</div>
<div class="plot"><svg viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true"><path class="grid" d="${grid}"/>${drawn}${marksOf(chart)}</svg><span class="cursor" hidden data-own></span></div>
<div class="moments" aria-hidden="true">${labelled(at).map((moment) => clock(moment, precisionOf(at)))}</div>
<details><summary>Values</summary>${valueTable(chart)}</details>
</div>`;
}

/** Those within the chart, as upright lines with a tip. */
function marksOf({ at, marks = [] }: Chart): readonly Html[] {
  const [first = 0, second = 0] = at.map((moment) => moment.getTime());
  const step = second - first;
  return marks.flatMap(({ at: moment, label }) => {
    const place = (moment.getTime() - first) / step;
    if (!(place >= 0 && place <= at.length)) return [];
    return html`<path class="mark" d="M${(place * WIDTH).toFixed(1)} 0V${HEIGHT}"><title>${label}</title></path>`;
  });
}

/** Bars without labels, for a row of a table that says the numbers. */
export function sparkline(values: readonly number[], tone: Series['tone']): Html {
  const top = Math.max(...values, 1);
  const path = values.map((value, place) => {
    const height = value === 0 ? 0.5 : Math.max((value / top) * 20, 2);
    return `M${place * 6} 20h5v-${height.toFixed(1)}h-5z`;
  });
  return html`<svg class="spark" viewBox="0 0 ${values.length * 6} 20" aria-hidden="true"><path class="bars tone-${tone}" d="${path.join('')}"/></svg>`;
}

/** How many moments are in each of some spans from a first moment on. By another clock, one may be later than the last. */
export function countsOf(moments: readonly number[], from: number, span: number, spans: number): readonly number[] {
  const counts = Array.from({ length: spans }, () => 0);
  for (const at of moments) if (at >= from) counts[Math.min(Math.floor((at - from) / span), spans - 1)]! += 1;
  return counts;
}

/** The marks of an axis: up to five round numbers from 0; the last one is `most` or more. @param isWhole no fractions */
export function ticksUpTo(most: number, isWhole = false): readonly number[] {
  if (!(most > 0)) return [0, 1];
  const rough = most / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const fits = (step: number): boolean => step * 4 >= most * (1 - 1e-9) && (!isWhole || Number.isInteger(step));
  const step = [...STEPS, 20].map((each) => Number((each * power).toPrecision(12))).find(fits) ?? 1;
  const count = Math.ceil(most / step - 1e-9);
  return Array.from({ length: count + 1 }, (_, place) => Number((place * step).toPrecision(12)));
}

/** The sum of all series, or the highest of them. */
function heightAt({ series, kind }: Chart, place: number): number {
  const values = series.map(({ values }) => values[place] ?? 0);
  return kind === 'bars' ? values.reduce((sum, value) => sum + value, 0) : Math.max(...values);
}

function bars({ at, series }: Chart, top: number): readonly Html[] {
  const below = at.map(() => 0);
  return series.map(({ tone, values }) => {
    const path = values.map((value = 0, place) => {
      if (value <= 0) return '';
      const height = (value / top) * HEIGHT;
      const from = HEIGHT - below[place]!;
      below[place]! += height;
      return `M${place * WIDTH + 1} ${from.toFixed(1)}h${WIDTH - 2}v-${Math.max(height, 0.8).toFixed(1)}h-${WIDTH - 2}z`;
    });
    return html`<path class="bars tone-${tone}" d="${path.join('')}"/>`;
  });
}

/** The line is interrupted where values are unknown. */
function line({ tone, values }: Series, y: (value: number) => string): Html {
  const path = values.map((value, place) => {
    if (value === undefined) return '';
    return `${values[place - 1] === undefined ? 'M' : 'L'}${place * WIDTH + WIDTH / 2} ${y(value)}`;
  });
  return html`<path class="line tone-${tone}" d="${path.join('')}"/>`;
}

function summary({ title, series, text, at, marks = [] }: Chart): string {
  const told = series.map(({ label, values }) => {
    const known = values.filter((value) => value !== undefined);
    if (known.length === 0) return `${label}: nothing known`;
    return `${label}: latest ${text(known.at(-1)!)}, highest ${text(Math.max(...known))}`;
  });
  const [first, last] = [at[0]!.getTime(), at.at(-1)!.getTime()];
  const marked = marks
    .filter(({ at: moment }) => moment.getTime() >= first && moment.getTime() <= last)
    .map(({ at: moment, label }) => ` ${moment.toISOString().slice(0, 16)} UTC: ${label}.`);
  return `${title}. ${told.join('; ')}.${marked.join('')} The arrow keys show each value.`;
}

function labelled(at: readonly Date[]): readonly Date[] {
  const last = at.length - 1;
  const count = Math.min(LABELS, at.length);
  return Array.from({ length: count }, (_, place) => at[Math.round((place * last) / Math.max(count - 1, 1))]!);
}

function valueTable({ title, at, series, text }: Chart): Html {
  const span = precisionOf(at);
  const precision = span === 'time' ? span : 'minute';
  const rows = at.map(
    (moment, place) =>
      html`<tr data-key="${moment.getTime()}"><th scope="row">${clock(moment, precision)}</th>${series.map(({ values }) => html`<td class="number">${values[place] === undefined ? '–' : text(values[place])}</td>`)}</tr>`,
  );
  const columns = ['Time', ...series.map(({ label }) => numberColumn(label))];
  return table({ caption: title, isCaptionUnseen: true, columns, rows });
}

/** What tells one moment of a chart from another: over a day the weekday, over a week the date. */
type Precision = 'time' | 'day' | 'date' | 'minute';

function precisionOf(at: readonly Date[]): Precision {
  const hours = at.length === 0 ? 0 : (at.at(-1)!.getTime() - at[0]!.getTime()) / 3_600_000;
  return hours > 48 ? 'date' : hours > 12 ? 'day' : 'time';
}

const DATE = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'short', timeZone: 'UTC' });

/** In UTC; the script shows it in the viewer's time zone. */
function clock(moment: Date, precision: Precision): Html {
  const iso = moment.toISOString();
  const date = { time: [], day: [DAY.format(moment)], date: [DATE.format(moment)], minute: [DATE.format(moment)] }[
    precision
  ];
  const time = precision === 'date' ? [] : [iso.slice(11, 16)];
  return html`<time datetime="${iso}" data-clock="${precision}">${[...date, ...time].join(' ')}</time>`;
}

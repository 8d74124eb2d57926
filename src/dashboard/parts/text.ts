/** Numbers, moments, spans, and the data or error of a job in one line, for people. */
import type { Milliseconds, Seconds } from '../../base/clock';
import { spanText } from '../../base/span';
import type { ScheduleListing } from '../../schedule/schedules';
import { html, type Html, type Shown } from '../html';

const WHOLE = new Intl.NumberFormat('en-US');
const ROUNDED = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });

/** `1,234,567`, and `0.25` */
export function numberText(value: number): string {
  return Number.isInteger(value) ? WHOLE.format(value) : ROUNDED.format(value);
}

/** To one decimal. */
export function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

/** `1 job`, `2 jobs` */
export function counted(count: number, noun: string, plural = `${noun}s`): string {
  return `${numberText(count)} ${count === 1 ? noun : plural}`;
}

/** `Unique for` */
export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** `3 min 20 s ago`, `in 2 h`, with the exact moment as its title, which the script shows in the viewer's time zone. */
export function moment(at: Date, now: Milliseconds): Html {
  const iso = at.toISOString();
  const span = at.getTime() - now;
  const text = Math.abs(span) < 1000 ? 'now' : span < 0 ? `${spanText(-span)} ago` : `in ${spanText(span)}`;
  return html`<time datetime="${iso}" title="${iso.replace('T', ' ').replace(/\.\d+Z$/, ' UTC')}">${text}</time>`;
}

/** Schedules, with what each sends next. */
export function comingList(schedules: readonly ScheduleListing[], now: Milliseconds): Html {
  const row = ({ name, declared, next, last }: ScheduleListing): Html =>
    html`<li><bdi>${name}</bdi> <span class="soft">${declared?.cadence}</span> ${next ? moment(next, now) : 'not due'}${last && html`<span class="soft">, last ${moment(last, now)}</span>`}</li>`;
  return html`<ol class="coming">${schedules.map(row)}</ol>`;
}

export function secondsText(span: Seconds | undefined): string {
  return span === undefined ? '' : spanText(span * 1000);
}

/** The first ones with commas between them, and how many more there are. @param noun what one of these is */
export function someOf<Item>(all: readonly Item[], most: number, shown: (item: Item) => Html, noun?: string): Html {
  const named = all.slice(0, most).map((item, place) => html`${place > 0 && ', '}${shown(item)}`);
  const rest = Math.max(all.length - most, 0);
  const more = noun === undefined ? `${numberText(rest)} more` : counted(rest, `more ${noun}`);
  return html`${named}${rest > 0 && ` and ${more}`}`;
}

/** What could not be read. */
export function troubles(texts: readonly Shown[]): Html {
  return html`${texts.map((text) => html`<p class="trouble">${text}</p>`)}`;
}

/** Of each connection that could not be read. */
export function troublesOf(
  seen: readonly { readonly connection: string; readonly trouble?: string | undefined }[],
): Html {
  const away = seen.filter(({ trouble }) => trouble !== undefined);
  return troubles(away.map(({ connection, trouble }) => html`<strong><bdi>${connection}</bdi></strong>: ${trouble}`));
}

/** In characters. */
const LONGEST = 120;
const LONGEST_ERROR = 300;

/** @param payload with its secrets masked */
export function excerptOf(payload: unknown): Html {
  const text = dataText(payload);
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  return html`<code><bdi>${shown}</bdi></code>`;
}

/** What an error says, without its stack. */
export function errorLine(exception: string): string {
  const [line = ''] = exception.split('\n', 1);
  return line.length > LONGEST_ERROR ? `${line.slice(0, LONGEST_ERROR)}…` : line;
}

/** What the dispatcher gave, as JSON, or as the text that it is; for foreign payloads, everything. */
export function dataText(payload: unknown): string {
  const given = (payload as { readonly data?: unknown } | null)?.data ?? payload;
  const data = (given as { readonly command?: unknown } | null)?.command ?? given;
  return typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
}

/** Shows values that JSON has no types for, from their forms in a payload (see `docs/format.md`). */
import { isRecord } from '../../payload/values';
import { html, type Html } from '../html';
import { counted } from '../parts/number';
import { longText, type TextBudget } from './long-text';

/** Bytes of binary data that are shown. */
const MOST_BYTES = 32;

/** Undefined if the value has members to show. */
export function typedText(type: string, form: unknown, budget: TextBudget): Html | undefined {
  if (type === 'undefined') return html`<code class="scalar">undefined</code>`;
  if (type === 'Date') return dateText(form, budget);
  if (typeof form === 'object' && form !== null) return type === 'RegExp' ? patternText(form, budget) : undefined;
  if (typeof form !== 'string') return html`<code class="scalar">${String(form)}</code>${named(type)}`;
  if (type === 'number') return html`<code class="scalar">${form}</code>`;
  if (type === 'string') return longText(Buffer.from(form, 'base64').toString('utf16le'), budget, '"');
  if (type === 'bigint' || type === 'URL') return html`${longText(form, budget)}${named(type)}`;
  return BINARY.test(type) ? bytesText(type, form) : html`${longText(form, budget, '"')}${named(type)}`;
}

const BINARY = /^(?:Buffer|ArrayBuffer|(?:Big)?(?:Int|Uint|Float)\d+(?:Clamped)?Array)$/;

const named = (type: string): Html => html` <span class="type"><bdi>${type.slice(0, 100)}</bdi></span>`;

function dateText(form: unknown, budget: TextBudget): Html {
  if (form === null) return html`<code class="scalar">Invalid Date</code>`;
  const text = typeof form === 'string' ? form : JSON.stringify(form);
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return html`${longText(text, budget, '"')}${named('Date')}`;
  const iso = date.toISOString();
  return html`<time class="text" datetime="${iso}">${iso.replace('T', ' ').replace('.000Z', 'Z').replace('Z', ' UTC')}</time>${named('Date')}`;
}

function patternText(form: object, budget: TextBudget): Html | undefined {
  const { source, flags } = form as Readonly<Record<string, unknown>>;
  if (!isRecord(form) || typeof source !== 'string' || typeof flags !== 'string') return undefined;
  return html`${longText(`/${source}/${flags}`, budget)}${named('RegExp')}`;
}

function bytesText(type: string, form: string): Html {
  const size = Buffer.byteLength(form, 'base64');
  const bytes = Buffer.from(form.slice(0, MOST_BYTES * 2), 'base64').subarray(0, MOST_BYTES);
  const shown = bytes.toString('hex').replace(/..(?=.)/g, '$& ');
  return html`<code class="scalar">${shown}${size > MOST_BYTES && ' …'}</code> <span class="type">${type}, ${counted(size, 'byte')}</span>`;
}

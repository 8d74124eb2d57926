/** The data of a job as a readable tree, the other fields of its payload, and the raw payload. */
import { MASK } from '../../base/redact';
import type { FoundJob } from '../../operations/found-job';
import type { ShownResult } from '../../operations/kept-end';
import { noCounters, RETRY_MARK } from '../../payload/counters';
import {
  BATCH_FIELD,
  CHAIN_FIELDS,
  CHOSEN_FIELDS,
  HANDLER,
  HANDLER_WITH_FOLLOWERS,
  OCCURRENCE_FIELD,
  SENSITIVE,
  TIES,
} from '../../payload/payload-text';
import { READY_AT } from '../../payload/uuid';
import { isRecord } from '../../payload/values';
import { html, type Html } from '../html';
import { counted, numberText } from '../parts/text';
import { fieldsOf, isLaravels } from './story';

/** Fields that another place of the page shows, or that nobody wants to see. */
export const SHOWN_ELSEWHERE: ReadonlySet<string> = new Set([
  'displayName',
  'job',
  'data',
  'uuid',
  'id',
  'middleware',
  TIES,
  RETRY_MARK,
  READY_AT,
  OCCURRENCE_FIELD,
  SENSITIVE,
  BATCH_FIELD,
  ...CHAIN_FIELDS,
  ...CHOSEN_FIELDS,
  ...Object.keys(noCounters),
]);

/** Characters of the raw payload that are shown. */
const LONGEST_RAW = 20_000;

export function dataPart(job: FoundJob): Html | undefined {
  const { payload, id } = job;
  if (payload === undefined) return undefined;
  const fields = fieldsOf(job);
  if (fields === undefined)
    return html`<h2>Payload</h2>
      <p class="advice">No worker can read this payload. It begins:</p>
      <pre tabindex="0"><bdi>${typeof payload === 'string' && payload}</bdi></pre>`;
  const { job: handler, data } = fields;
  const isOurs = (handler === HANDLER || handler === HANDLER_WITH_FOLLOWERS) && isRecord(data);
  const middleware = isRecord(fields['middleware']) ? fields['middleware'] : undefined;
  const others = Object.entries(fields).filter(([field]) => !SHOWN_ELSEWHERE.has(field));
  return html`<h2>Data</h2>
    ${isLaravels(fields) && html`<p class="advice">This job belongs to a class of Laravel; its data are serialized by PHP.</p>`}
    ${isOurs ? dataTree(data['command'], data['types']) : dataTree(data, undefined)}
    ${middleware && html`<h2>Middleware of its dispatch</h2>${dataTree(middleware['command'], middleware['types'])}`}
    ${others.length > 0 && html`<h2>Other fields</h2>${dataTree(Object.fromEntries(others), undefined)}`}
    ${rawPayload(payload, id)}`;
}

function rawPayload(payload: unknown, id: string): Html {
  const text = JSON.stringify(payload, undefined, 2);
  const left = text.length - LONGEST_RAW;
  return html`<details class="raw">
    <summary>As JSON <span class="type">${numberText(text.length)} characters</span></summary>
    ${
      left > 0
        ? html`<p class="soft">
            Only the first ${numberText(LONGEST_RAW)} characters are shown; ${numberText(left)} more are left out. For all of it:
            <code>npx onqueue inspect ${id} --json</code>
          </p>`
        : html`<p><button type="button" data-copy="" data-of="raw-payload">Copy</button></p>`
    }
    <pre id="raw-payload" tabindex="0">${text.slice(0, LONGEST_RAW)}</pre>
  </details>`;
}

/** Undefined if no result is kept. */
export function resultPart(result: ShownResult | undefined): Html | undefined {
  if (result === undefined || result.kind === 'cancelled') return undefined;
  const { kind, value, types, reason } = result;
  if (kind === 'completed') return html`<h2>Result</h2>${dataTree(value, types)}`;
  return html`<h2>Result</h2><p class="advice">${kind === 'failed' ? 'It has failed' : 'It could not be kept'}: <bdi class="bad">${reason ?? ''}</bdi></p>`;
}

/** How many values a tree shows, and how many of one object or list. */
const MOST_VALUES = 1500;
const MOST_MEMBERS = 100;

/** Characters of a tree. */
const MOST_TEXT = 64 * 1024;
const DEEPEST = 40;

/** Levels that are open at first, if they are short. */
const OPEN = 2;
const SHORT = 20;

/** @param types the names of types by JSON Pointers, as in a payload */
function dataTree(value: unknown, types: unknown): Html {
  return new DataTree(isRecord(types) ? types : {}).all(value);
}

interface Member {
  readonly key: Html | undefined;
  readonly value: unknown;
  readonly pointer: string;
}

class DataTree {
  readonly #types: Readonly<Record<string, unknown>>;
  readonly #budget: TextBudget = { left: MOST_TEXT };
  #values = MOST_VALUES;

  constructor(types: Readonly<Record<string, unknown>>) {
    this.#types = types;
  }

  all(value: unknown): Html {
    const members = this.#typeAt('') === undefined ? membersOf(value, '') : undefined;
    if (members === undefined)
      return html`<div class="tree">${this.#one({ key: undefined, value, pointer: '' }, 0)}</div>`;
    if (members.count === 0) return html`<p class="soft">Nothing.</p>`;
    return html`<div class="tree">${this.#list(members, 0)}</div>`;
  }

  #typeAt(pointer: string): string | undefined {
    const type = Object.hasOwn(this.#types, pointer) ? this.#types[pointer] : undefined;
    return typeof type === 'string' ? type : undefined;
  }

  #list({ first, count }: Members, depth: number): Html {
    const shown: Html[] = [];
    for (const member of first) {
      if (this.#values <= 0 || this.#budget.left <= 0) break;
      this.#values -= 1;
      shown.push(html`<li>${this.#one(member, depth)}</li>`);
    }
    const left = count - shown.length;
    return html`<ul>
      ${shown}${left > 0 && html`<li class="soft">… and ${numberText(left)} more, left out here</li>`}
    </ul>`;
  }

  #one({ key, value, pointer }: Member, depth: number): Html {
    const named = key && html`<span class="key">${key}</span> `;
    const type = this.#typeAt(pointer);
    // Its type no longer applies, whatever it was.
    if (value === MASK) return html`${named}<span class="masked" title="Masked: it looks like a secret">${MASK}</span>`;
    const leaf = type === undefined ? plainText(value, this.#budget) : typedText(type, value, this.#budget);
    if (leaf !== undefined) return html`${named}${leaf}`;
    const members = membersOf(value, pointer, type) ?? { first: [], count: 0 };
    const label = labelOf(value, type, members.count);
    if (members.count === 0) return html`${named}${label}`;
    if (depth >= DEEPEST) return html`${named}${label} <span class="soft">… deeper levels are left out here</span>`;
    const isOpen = depth < OPEN && members.count <= SHORT;
    return html`<details${isOpen && html` open`}><summary>${named}${label}</summary>${this.#list(members, depth + 1)}</details>`;
  }
}

interface Members {
  readonly first: readonly Member[];
  readonly count: number;
}

function plainText(value: unknown, budget: TextBudget): Html | undefined {
  if (typeof value === 'string') return longText(value, budget, '"');
  if (typeof value === 'object' && value !== null) return undefined;
  return html`<code class="scalar">${String(value)}</code>`;
}

function labelOf(value: unknown, type: string | undefined, count: number): Html {
  if (type === 'Map' || type === 'Set')
    return typeLabel(type, counted(count, type === 'Map' ? 'entry' : 'value', type === 'Map' ? 'entries' : 'values'));
  const size = Array.isArray(value) ? counted(count, 'item') : counted(count, 'field');
  return typeLabel(type?.replace(/^class:/, '') ?? (Array.isArray(value) ? 'List' : 'Object'), size);
}

const typeLabel = (type: string, size: string): Html =>
  html`<span class="type"><bdi>${type.slice(0, 100)}</bdi>, ${size}</span>`;

/** Undefined if the value is neither an object nor a list. */
function membersOf(value: unknown, pointer: string, type?: string): Members | undefined {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value.slice(0, MOST_MEMBERS);
    return { first: items.map((item, place) => itemOf(item, `${pointer}/${place}`, place, type)), count: value.length };
  }
  if (!isRecord(value)) return undefined;
  const keys = Object.keys(value);
  const first = keys.slice(0, MOST_MEMBERS).map((key) => ({
    key: keyText(key),
    value: value[key],
    pointer: `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`,
  }));
  return { first, count: keys.length };
}

function itemOf(item: unknown, pointer: string, place: number, type: string | undefined): Member {
  if (type === 'Set') return { key: undefined, value: item, pointer };
  if (type !== 'Map' || !Array.isArray(item) || item.length !== 2) return { key: keyText(place), value: item, pointer };
  const [key, value] = item as readonly unknown[];
  // A key that is more than a word is shown as part of its entry.
  if (typeof key === 'object' && key !== null) return { key: keyText('entry'), value: item, pointer };
  return { key: html`${keyText(String(key))} →`, value, pointer: `${pointer}/1` };
}

const keyText = (key: string | number): Html => html`<bdi>${String(key).slice(0, LONGEST_KEY)}</bdi>`;

/** In characters. */
const LONGEST_KEY = 200;

/** Bytes of binary data that are shown. */
const MOST_BYTES = 32;

/** Undefined if the value has members to show. */
function typedText(type: string, form: unknown, budget: TextBudget): Html | undefined {
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

/** Exact: it is a fact of the job, and not how long ago something happened, which the script of the page would make of it. */
function dateText(form: unknown, budget: TextBudget): Html {
  if (form === null) return html`<code class="scalar">Invalid Date</code>`;
  const text = typeof form === 'string' ? form : JSON.stringify(form);
  const date = new Date(text);
  if (Number.isNaN(date.getTime())) return html`${longText(text, budget, '"')}${named('Date')}`;
  const iso = date.toISOString();
  return html`<time class="text" datetime="${iso}" data-clock>${iso.replace('T', ' ').replace('.000Z', 'Z').replace('Z', ' UTC')}</time>${named('Date')}`;
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

/** Characters shown at once, and after a click. */
const SHORT_TEXT = 300;
const LONG_TEXT = 10_000;

/** Characters that may still be shown on the page. */
interface TextBudget {
  left: number;
}

/** @param quote surrounds the text if it must be told from other values */
function longText(text: string, budget: TextBudget, quote = ''): Html {
  const shown = text.slice(0, Math.min(LONG_TEXT, Math.max(budget.left, SHORT_TEXT)));
  budget.left -= shown.length;
  if (text.length <= SHORT_TEXT) return quoted(text, quote);
  const left = text.length - shown.length;
  return html`<details class="long">
    <summary>${quoted(`${text.slice(0, SHORT_TEXT)}…`, quote)} <span class="type">${numberText(text.length)} characters</span></summary>
    <pre>${shown}</pre>
    ${left > 0 && html`<p class="soft">… and ${numberText(left)} more characters, left out here</p>`}
  </details>`;
}

function quoted(text: string, quote: string): Html {
  return html`<span class="text">${quote}<bdi>${text}</bdi>${quote}</span>`;
}

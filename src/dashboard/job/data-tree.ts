/**
 * The data of a job as a readable tree; values without a JSON type are shown with their type. Stays short, however large the data
 * are.
 */
import { html, type Html } from '../html';
import { isRecord } from '../../payload/values';
import { MASK } from '../../base/redact';
import { counted, numberText } from '../parts/number';
import { longText, type TextBudget } from './long-text';
import { typedText } from './typed-text';

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
export function dataTree(value: unknown, types: unknown): Html {
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

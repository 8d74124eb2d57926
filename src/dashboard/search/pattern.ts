/** The text that is looked for, within others: whether its letters are large or small is all the same. */
import { html, type Html } from '../html';

/** Characters around the first place where it stands. */
const BEFORE = 24;
const BEHIND = 160;

export class Pattern {
  readonly #first: RegExp;
  readonly #all: RegExp;

  /** @param text not empty */
  constructor(text: string) {
    // In JSON, quotes and backslashes have another one before them.
    const forms = new Set([text, JSON.stringify(text).slice(1, -1)].map(literal));
    const source = [...forms].join('|');
    // Not by `toLowerCase`, which makes some letters longer: the marks would stand beside what they mark.
    this.#first = new RegExp(source, 'iu');
    this.#all = new RegExp(source, 'giu');
  }

  isIn(text: string): boolean {
    return this.#first.test(text);
  }

  /** The whole text. */
  marked(text: string): Html {
    return html`<bdi>${this.#parts(text)}</bdi>`;
  }

  /** What stands around the first one. Undefined: there is none. */
  excerpt(text: string): Html | undefined {
    const { index, 0: found = '' } = this.#first.exec(text) ?? {};
    if (index === undefined) return undefined;
    const [start, end] = [Math.max(0, index - BEFORE), index + found.length + BEHIND];
    return html`<bdi>${start > 0 && '…'}${this.#parts(text.slice(start, end))}${end < text.length && '…'}</bdi>`;
  }

  #parts(text: string): readonly (Html | string)[] {
    const parts: (Html | string)[] = [];
    let end = 0;
    for (const { 0: found, index } of text.matchAll(this.#all)) {
      parts.push(text.slice(end, index), html`<mark>${found}</mark>`);
      end = index + found.length;
    }
    return [...parts, text.slice(end)];
  }
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** Finds a text within others, ignoring case. */
import { html, type Html } from '../html';

/** Characters shown before and after the first match. */
const BEFORE = 24;
const BEHIND = 160;

export class Pattern {
  readonly #first: RegExp;
  readonly #all: RegExp;

  /** @param text not empty */
  constructor(text: string) {
    // In JSON, quotes and backslashes are escaped.
    const forms = new Set([text, JSON.stringify(text).slice(1, -1)].map(literal));
    const source = [...forms].join('|');
    // Not with `toLowerCase`, which makes some letters longer, so that the marks would be misplaced.
    this.#first = new RegExp(source, 'iu');
    this.#all = new RegExp(source, 'giu');
  }

  isIn(text: string): boolean {
    return this.#first.test(text);
  }

  marked(text: string): Html {
    return html`<bdi>${this.#parts(text)}</bdi>`;
  }

  /** The text around the first match. Undefined if there is none. */
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

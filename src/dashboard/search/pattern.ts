/** Finds a text within others, ignoring case. */
import { html, type Html } from '../html';

/** Characters shown before and after the first match. */
const BEFORE = 24;
const BEHIND = 160;

interface Match {
  readonly start: number;
  readonly end: number;
}

export class Pattern {
  readonly #forms: readonly string[];

  /** @param text not empty */
  constructor(text: string) {
    // In JSON, quotes and backslashes are escaped.
    this.#forms = [...new Set([text, JSON.stringify(text).slice(1, -1)])].map(withoutCase);
  }

  isIn(text: string): boolean {
    return this.#first(text) !== undefined;
  }

  marked(text: string): Html {
    return html`<bdi>${this.#parts(text)}</bdi>`;
  }

  /** The text around the first match. Undefined if there is none. */
  excerpt(text: string): Html | undefined {
    const found = this.#first(text);
    if (found === undefined) return undefined;
    const [start, end] = [Math.max(0, found.start - BEFORE), found.end + BEHIND];
    return html`<bdi>${start > 0 && '…'}${this.#parts(text.slice(start, end))}${end < text.length && '…'}</bdi>`;
  }

  #parts(text: string): readonly (Html | string)[] {
    const parts: (Html | string)[] = [];
    let shown = 0;
    for (const { start, end } of this.#matches(text)) {
      parts.push(text.slice(shown, start), html`<mark>${text.slice(start, end)}</mark>`);
      shown = end;
    }
    return [...parts, text.slice(shown)];
  }

  #first(text: string): Match | undefined {
    const [found] = this.#matches(text);
    return found;
  }

  /**
   * Not with a regular expression, which would compare the whole pattern at each place of a text that repeats itself: 4 MB took
   * 3.7 s.
   */
  *#matches(given: string): Generator<Match> {
    const text = withoutCase(given);
    const next = this.#forms.map((form) => ({ form, start: text.indexOf(form) }));
    for (;;) {
      const [first] = next.filter(({ start }) => start >= 0).toSorted((one, other) => one.start - other.start);
      if (first === undefined) return;
      const { start } = first;
      const end = start + first.form.length;
      yield { start, end };
      for (const one of next) if (one.start >= 0 && one.start < end) one.start = text.indexOf(one.form, end);
    }
  }
}

/** In lower case, every character at its place: only İ would become longer. A σ is written differently at the end of a word. */
function withoutCase(text: string): string {
  return text.replaceAll('İ', 'I').toLowerCase().replaceAll('ς', 'σ');
}

/** Markup, made only by `html`, which escapes all values: no text of a job can become markup. */
import { hash } from 'node:crypto';

/** What a template may contain. `undefined` and `false` show nothing. */
export type Shown = Html | string | number | undefined | false | readonly Shown[];

/** Made by `html`. */
export class Html {
  readonly text: string;

  private constructor(text: string) {
    this.text = text;
  }

  static of(parts: readonly string[], values: readonly Shown[]): Html {
    return new Html(parts.map((part, place) => part + (place < values.length ? markup(values[place]) : '')).join(''));
  }

  /** The row of a table with the heading of each cell at it, for narrow screens, which show rows as cards. */
  static withHeadings(row: Html, headings: readonly string[]): Html {
    let place = 0;
    const labelled = (tag: string): string => {
      const heading = headings[place++] ?? '';
      return heading === '' ? tag : `${tag.slice(0, -1)} data-label="${markup(heading)}">`;
    };
    return new Html(row.text.replaceAll(/<t[dh](?:\s[^>]*)?>/g, labelled));
  }

  /** A row that forms can lead back to: its key becomes its anchor, and a field of each of them. */
  static anchored(row: Html): Html {
    const [opening = '', key] = /^<tr data-key="([^"]*)"/.exec(row.text) ?? [];
    if (key === undefined || !row.text.includes('<form ')) return row;
    const anchor = `row-${hash('sha256', key, 'base64url').slice(0, 8)}`;
    const field = `<input type="hidden" name="row" value="${anchor}">`;
    return new Html(
      `${opening} id="${anchor}"${row.text.slice(opening.length).replaceAll(/<form [^>]*>/g, `$&${field}`)}`,
    );
  }
}

/** The template tag of all markup. Attributes must be in double quotes. */
export function html(parts: TemplateStringsArray, ...values: readonly Shown[]): Html {
  return Html.of(parts, values);
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
  // Browsers would silently drop it.
  '\0': '\uFFFD',
};

function markup(value: Shown): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(markup).join('');
  return String(value)
    .toWellFormed()
    .replace(/[&<>"'`\0]/g, (character) => ESCAPES[character]!);
}

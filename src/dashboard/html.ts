/** Markup. It is made by `html` alone, which escapes whatever is put into it: no text of a job can become markup. */

/** What may stand in a template. Nothing is shown for `undefined` and `false`. */
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
}

/** The template tag of all markup. Attributes are written with double quotes around them. */
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
  // Browsers leave it out, as if nothing had stood there.
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

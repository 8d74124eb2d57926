/** The form above a list, which chooses among its rows. An empty field chooses nothing. */
import { html, type Html } from '../html';
import { hiddenFields } from './links';

export type Choice<Field extends string = string> = { readonly [Key in Field]?: string | undefined };

/** A field of the form, by its label. */
interface Field {
  readonly label: string;
  readonly hint?: string;
  /** All that it may be, the one that chooses nothing first. Default: any text. */
  readonly values?: readonly (readonly [value: string, text: string])[];
}

export function filterForm(page: string, choice: Choice, fields: Readonly<Record<string, string | Field>>): Html {
  const field = ([key, given]: readonly [string, string | Field]): Html => {
    const { label, hint, values }: Field = typeof given === 'string' ? { label: given } : given;
    const chosen = choice[key] ?? '';
    const option = ([value, text]: readonly [string, string]): Html =>
      html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`;
    return values === undefined
      ? html`<label>${label} <input type="text" name="${key}" value="${chosen}" placeholder="${hint}" maxlength="300" autocomplete="off"></label>`
      : html`<label>${label} <select name="${key}">${values.map(option)}</select></label>`;
  };
  // What has no field in the form stays chosen.
  const others = Object.entries(choice).filter(([key]) => !Object.hasOwn(fields, key));
  const isChosen = Object.values(choice).some((value) => value !== undefined);
  return html`<form class="filter" action="${page}">${Object.entries(fields).map(field)} ${hiddenFields(Object.fromEntries(others))}<button>Filter</button>${isChosen && html` <a href="${page}">Show all</a>`}</form>`;
}

/** What an address or another form chooses. */
export function choiceOf<Field extends string>(given: URLSearchParams, fields: readonly Field[]): Choice<Field> {
  const choice = fields.map((field) => [field, given.get(field)?.trim() ?? ''] as const);
  return Object.fromEntries(choice.filter(([, value]) => value !== '')) as Choice<Field>;
}

/** Reads the fields of a form. */
import { formIncomplete } from '../errors';
import { CHOICES } from '../failed/failed-choice';

/** The fields that say what an action does. No other is logged: one called `level` or `time` would replace the log's own. */
const TELLING: readonly string[] = [...CHOICES, 'id', 'for', 'all', 'job'];

/** Logged values of one field, such as the jobs that were ticked. */
const MOST_LOGGED = 100;

/** The fields of a form for the log. */
export function loggedFields(form: URLSearchParams): Readonly<Record<string, string | readonly string[]>> {
  const given = TELLING.filter((field) => form.has(field));
  return Object.fromEntries(
    given.map((field) => {
      const [first = '', ...more] = form.getAll(field);
      return [field, more.length === 0 ? first : [first, ...more].slice(0, MOST_LOGGED)];
    }),
  );
}

/** @throws E_DASHBOARD_FIELD the field is missing */
export function fieldOf(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null || value === '') throw formIncomplete(name);
  return value;
}

/** Reads the fields of a form. */
import { formIncomplete } from '../errors';

/** @throws E_DASHBOARD_FIELD the field is missing */
export function fieldOf(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null || value === '') throw formIncomplete(name);
  return value;
}

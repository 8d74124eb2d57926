/** Reads the fields of a form. */
import { formIncomplete } from '../errors';

/** @throws E_DASHBOARD_FIELD the field is missing */
export function fieldOf(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null || value === '') throw formIncomplete(name);
  return value;
}

/** The fields, except those that steer the form itself. */
export function otherFields(form: URLSearchParams): readonly (readonly [string, string])[] {
  return [...form].filter(([name]) => name !== 'back' && name !== 'confirmed');
}

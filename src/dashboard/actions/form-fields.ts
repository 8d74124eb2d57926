/** Reads what a form has sent. */
import { formIncomplete } from '../errors';

/** @throws E_DASHBOARD_FIELD it is not there */
export function fieldOf(form: URLSearchParams, name: string): string {
  const value = form.get(name);
  if (value === null || value === '') throw formIncomplete(name);
  return value;
}

/** The fields but for those that steer the form itself. */
export function otherFields(form: URLSearchParams): readonly (readonly [string, string])[] {
  return [...form].filter(([name]) => name !== 'back' && name !== 'confirmed');
}

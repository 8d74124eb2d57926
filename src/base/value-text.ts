/** How messages speak of a value. */
import { inspect } from 'node:util';
import type { Description } from './onqueue-error';

/** The value on one short line, strings in quotes. @param depth how many levels of nested objects are shown */
export function valueText(value: unknown, depth = 1): string {
  if (typeof value === 'function') return value.name === '' ? 'a function' : `the function ${value.name}`;
  return inspect(value, { depth, breakLength: Infinity, maxStringLength: 60, maxArrayLength: 5 });
}

/** Its type, with an article. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The content of an error about a value that cannot be given there. */
export function invalidValue(
  subject: string,
  value: unknown,
  remedy: string,
): Description<{ readonly subject: string; readonly value: unknown }> {
  return { message: `${subject}: ${valueText(value)} is not valid. ${remedy}`, facts: { subject, value } };
}

/** How a message shows a value: short, on one line, strings in quotes. */
import { inspect } from 'node:util';

/** @param depth how many levels of nested objects are shown */
export function valueText(value: unknown, depth = 1): string {
  if (typeof value === 'function') return value.name === '' ? 'a function' : `the function ${value.name}`;
  return inspect(value, { depth, breakLength: Infinity, maxStringLength: 60, maxArrayLength: 5 });
}

/** How an error shows the value at fault: short, on one line, strings in quotes. */
import { inspect } from 'node:util';

export function valueText(value: unknown): string {
  if (typeof value === 'function') return value.name === '' ? 'a function' : `the function ${value.name}`;
  return inspect(value, { depth: 1, breakLength: Infinity, maxStringLength: 60, maxArrayLength: 5 });
}

/** Whether two configurations are equal, like those of a module that is evaluated twice. */
import { isDeepStrictEqual, types } from 'node:util';
import { isPlain } from '../../payload/kinds';
import { classOf } from '../../base/class';

/** No setting is nested deeper; a logger that is a plain object may be cyclic. */
const DEEPEST = 6;

export function saysTheSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(likeness(one, 0), likeness(other, 0));
}

// Each evaluation creates its own classes, functions and clients, so we compare those by name.
function likeness(value: unknown, depth: number): unknown {
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => likeness(item, depth + 1));
  if (types.isUint8Array(value) || value instanceof URL || types.isDate(value)) return value;
  if (!isPlain(value)) return `instance of ${classOf(value)?.name ?? ''}`;
  if (depth === DEEPEST) return undefined;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, likeness(item, depth + 1)]));
}

/** The unique or debounce key of a job. */
import type { JobDefinition } from '../job/definition';
import { declaredDebouncing, declaredUniqueness } from '../job/resolve-options';
import { debounceKey, type Ties, uniqueKey } from '../payload/ties';
import { invalidUniqueKey } from './errors';

/** In characters. A key is an id, not data. */
const LONGEST_KEY = 1000;

/** Undefined if it has no key. @throws E_INVALID_UNIQUE_KEY */
export function tiesOf(job: object, definition: JobDefinition, queue: string): Ties | undefined {
  const { name, options } = definition;
  if (options.unique === undefined && options.debounce === undefined) return undefined;
  const debouncing = declaredDebouncing(definition);
  if (debouncing !== undefined) {
    const { by, longest } = debouncing;
    const key = debounceKey(name, by === undefined ? '' : keyOf(job, name, 'debounce', by), queue);
    return { debounce: { key, longest } };
  }
  const uniqueness = declaredUniqueness(definition);
  if (uniqueness === undefined) return undefined;
  const { by, until, for: most } = uniqueness;
  const key = uniqueKey(name, by === undefined ? '' : keyOf(job, name, 'unique', by));
  return { unique: { key, until, for: most } };
}

function keyOf(job: object, name: string, option: 'unique' | 'debounce', by: (job: object) => unknown): string {
  let key: unknown;
  try {
    key = by(job);
  } catch (cause) {
    throw invalidUniqueKey(name, option, undefined, LONGEST_KEY, cause);
  }
  if (typeof key === 'number' && Number.isFinite(key)) return String(key);
  if (typeof key === 'string' && key !== '' && key.length <= LONGEST_KEY && key.isWellFormed()) return key;
  throw invalidUniqueKey(name, option, key, LONGEST_KEY);
}

/** The key that a unique job is to hold. */
import type { JobDefinition } from '../job/definition';
import { declaredUniqueness } from '../job/resolve-options';
import { type Ties, uniqueKey } from '../payload/ties';
import { invalidUniqueKey } from './errors';

/** Characters: it is an id, and not the data. */
const LONGEST_KEY = 1000;

/** Undefined: it has none. @throws E_INVALID_UNIQUE_KEY */
export function tiesOf(job: object, definition: JobDefinition): Ties | undefined {
  if (definition.options.unique === undefined) return undefined;
  const uniqueness = declaredUniqueness(definition);
  if (uniqueness === undefined) return undefined;
  const { by, until, for: most } = uniqueness;
  const key = uniqueKey(definition.name, by === undefined ? '' : keyOf(job, definition.name, by));
  return { unique: { key, until, for: most } };
}

function keyOf(job: object, name: string, by: (job: object) => unknown): string {
  let key: unknown;
  try {
    key = by(job);
  } catch (cause) {
    throw invalidUniqueKey(name, undefined, LONGEST_KEY, cause);
  }
  if (typeof key === 'number' && Number.isFinite(key)) return String(key);
  if (typeof key === 'string' && key !== '' && key.length <= LONGEST_KEY && key.isWellFormed()) return key;
  throw invalidUniqueKey(name, key, LONGEST_KEY);
}

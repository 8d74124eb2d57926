/** Refuses payloads that are built to hurt whoever walks through them. */
import { types } from 'node:util';
import { InvalidPayloadError } from './errors';
import { forbiddenKeyOf, mayHoldForbiddenKey } from './limits';
import { MAX_DEPTH } from './pointer';

/** The payload itself and `data` stand around what a job carries. */
const LEVELS = MAX_DEPTH + 2;

/** A text with as many brackets has at least this length; looking for them in shorter ones would be in vain. */
const SHORTEST_DEEP_TEXT = 2 * LEVELS;

/**
 * @param fields what `text` was parsed to
 * @throws InvalidPayloadError on a key such as `__proto__`, however it is spelled, and when values stand too deep in each other
 */
export function checkNesting(text: string, fields: object): void {
  if (text.length > SHORTEST_DEEP_TEXT || mayHoldForbiddenKey(text)) walk(fields);
}

/**
 * The same of what a function of the user's made of data.
 *
 * @throws InvalidPayloadError
 */
export function checkMade(value: object, place: string): void {
  walk(value, place, new Set());
}

// Level by level: a walk that calls itself would overflow on the very payloads that it is to find.
function walk(root: object, place?: string, seen?: Set<object>): void {
  let level = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === LEVELS) throw new InvalidPayloadError(`its values stand more than ${MAX_DEPTH} levels deep`, place);
    const next: object[] = [];
    for (const holder of level) {
      const key = forbiddenKeyOf(holder);
      if (key !== undefined) throw new InvalidPayloadError(`it has a key ${key}`, place);
      for (const value of seen === undefined ? Object.values(holder) : heldBy(holder)) {
        if (typeof value !== 'object' || value === null || seen?.has(value) === true) continue;
        seen?.add(value);
        next.push(value);
      }
    }
    level = next;
  }
}

function heldBy(holder: object): readonly unknown[] {
  if (ArrayBuffer.isView(holder)) return [];
  if (types.isMap(holder)) return [...holder].flat();
  return types.isSet(holder) ? [...holder] : Object.values(holder);
}

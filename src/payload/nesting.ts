/** Refuses payloads that are built to hurt whoever walks through them. */
import { InvalidPayloadError } from './errors';
import { MAX_DEPTH } from './pointer';

/** The payload itself and `data` stand around what a job carries. */
const LEVELS = MAX_DEPTH + 2;

/** A text with as many brackets has at least this length; looking for them in shorter ones would be in vain. */
const SHORTEST_DEEP_TEXT = 2 * LEVELS;

/**
 * @param fields what `text` was parsed to
 * @throws InvalidPayloadError on a key `__proto__`, and when values stand too deep in each other
 */
export function checkNesting(text: string, fields: object): void {
  const mayHoldKey = text.includes('__proto__') || text.includes('\\u005');
  if (mayHoldKey || text.length > SHORTEST_DEEP_TEXT) walk(fields);
}

// Level by level: a walk that calls itself would overflow on the very payloads that it is to find.
function walk(fields: object): void {
  let level = [fields];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === LEVELS) throw new InvalidPayloadError(`its values stand more than ${MAX_DEPTH} levels deep`);
    const next: object[] = [];
    for (const holder of level) {
      if (Object.hasOwn(holder, '__proto__')) throw new InvalidPayloadError('it has a key __proto__');
      for (const value of Object.values(holder)) if (typeof value === 'object' && value !== null) next.push(value);
    }
    level = next;
  }
}

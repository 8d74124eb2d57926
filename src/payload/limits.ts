/**
 * What a payload may not hold: a short payload may take long to read or use much memory, or harm whoever walks through it.
 *
 * A text of a megabyte must be read within a fraction of a second. Both sides apply the same limits, so that a payload that
 * no worker would read is refused when it is dispatched.
 */
import { types } from 'node:util';
import { InvalidPayloadError } from './errors';
import { MAX_DEPTH } from './pointer';

/** A pattern is compiled on first use. A long one like `(?:a{99}){99}…` would take minutes. */
const LONGEST_PATTERN = 1000;

/** Uses of `\p{…}` in all patterns of a payload: looking one up takes a tenth of a millisecond. */
const MOST_PROPERTIES = 500;

/** As in DNS. The time to encode a host that is not ASCII grows with the square of its length. */
const LONGEST_HOST = 255;
const LONGEST_LABEL = 63;

/** In one Map or Set. The engine hashes only the lowest 64 bits, so that all of them may collide. */
const MOST_LONG_INTEGERS = 1000;

/** Names that reach a prototype if a program copies or merges data by assignment. */
const FORBIDDEN: readonly string[] = ['__proto__', 'constructor', 'prototype'];

export function isForbiddenKey(key: string): boolean {
  return key === '__proto__' || key === 'constructor' || key === 'prototype';
}

/** Says what exceeds a limit, with its article: "a RegExp with the flag v". One instance per payload. */
export class Limits {
  #properties = 0;

  ofPattern(source: string, flags: string): string | undefined {
    // With this flag a pattern may name a set of strings, such as all emoji, which takes half a megabyte each time.
    if (flags.includes('v')) return 'a RegExp with the flag v';
    if (source.length > LONGEST_PATTERN) return `a RegExp of more than ${LONGEST_PATTERN} characters`;
    this.#properties += source.split(/\\p/i).length - 1;
    if (this.#properties <= MOST_PROPERTIES) return undefined;
    return `a RegExp with more \\p{…} than the ${MOST_PROPERTIES} that all together may have`;
  }

  ofUrl(href: string): string | undefined {
    const host = hostOf(href);
    if (host === undefined) return undefined;
    if (host.length > LONGEST_HOST) return `a URL whose host has more than ${LONGEST_HOST} characters`;
    const isLong = host.split('.').some((label) => label.length > LONGEST_LABEL);
    return isLong ? `a URL whose host has more than ${LONGEST_LABEL} characters between two dots` : undefined;
  }

  ofKeys(items: readonly unknown[], keyOf = (item: unknown): unknown => item): string | undefined {
    let count = 0;
    for (const item of items) {
      const key = keyOf(item);
      if (typeof key === 'bigint' && key !== BigInt.asIntN(64, key)) count++;
    }
    if (count <= MOST_LONG_INTEGERS) return undefined;
    return `a collection by more than ${MOST_LONG_INTEGERS} bigints beyond 64 bits`;
  }
}

/** The schemes whose hosts are domain names; the parser leaves other hosts unchanged. */
const HOST = /^(?:https?|wss?|ftp|file):[/\\]*([^/\\?#]*)/i;

function hostOf(href: string): string | undefined {
  // The URL parser skips these characters anywhere.
  const authority = HOST.exec(href.replace(/^[\0-\x20]+|[\t\n\r]+/g, ''))?.[1];
  return authority?.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '');
}

/** The payload and its `data` are two levels around a job's data. */
const LEVELS = MAX_DEPTH + 2;

/** A shorter text has too few brackets. */
const SHORTEST_DEEP_TEXT = 2 * LEVELS;

/**
 * @param fields the parsed `text`
 * @throws InvalidPayloadError on a key such as `__proto__`, however it is spelled, and when values are nested too deeply
 */
export function checkNesting(text: string, fields: object): void {
  // An escape may spell such a key.
  const mayHoldForbidden = text.includes('\\u') || FORBIDDEN.some((key) => text.includes(key));
  if (text.length > SHORTEST_DEEP_TEXT || mayHoldForbidden) walk(fields);
}

/**
 * The same check for data returned by a user's function.
 *
 * @throws InvalidPayloadError
 */
export function checkMade(value: object, place: string): void {
  walk(value, place, new Set());
}

// Level by level: a recursive walk would overflow the stack on the very payloads that it has to find.
function walk(root: object, place?: string, seen?: Set<object>): void {
  let level = [root];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth === LEVELS)
      throw new InvalidPayloadError(`its values are nested more than ${MAX_DEPTH} levels deep`, place);
    const next: object[] = [];
    for (const holder of level) {
      const key = FORBIDDEN.find((name) => Object.hasOwn(holder, name));
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

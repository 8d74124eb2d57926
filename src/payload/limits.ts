/**
 * What a payload may not hold, because reading it would take long or much memory, however short it is, or would hurt
 * whoever walks through it.
 *
 * A text of a megabyte must be read within a fraction of a second. Both sides ask the same, so that what no worker would
 * read is refused where it is dispatched.
 */
import { types } from 'node:util';
import { InvalidPayloadError } from './errors';
import { MAX_DEPTH } from './pointer';

/** A pattern is compiled when it is first used, and one of `(?:a{99}){99}…` for minutes, if it is long enough. */
const LONGEST_PATTERN = 1000;

/** `\p{…}` in all patterns of a payload: each is looked up when its pattern is made, in a tenth of a millisecond. */
const MOST_PROPERTIES = 500;

/** As DNS has it. What is not ASCII is turned into digits in a time that grows with the square of its length. */
const LONGEST_HOST = 255;
const LONGEST_LABEL = 63;

/** Keys of one Map, members of one Set. The engine looks at the lowest 64 bits alone, so that all of them may be in one place. */
const MOST_LONG_INTEGERS = 1000;

/** Names that reach a prototype where somebody copies or merges data by assigning. */
const FORBIDDEN: readonly string[] = ['__proto__', 'constructor', 'prototype'];

export function isForbiddenKey(key: string): boolean {
  return key === '__proto__' || key === 'constructor' || key === 'prototype';
}

/** What of a value is too much, with its article: "a RegExp with the flag v". Undefined: nothing. One for each payload. */
export class Limits {
  #properties = 0;

  ofPattern(source: string, flags: string): string | undefined {
    // A set of texts, such as all emoji, takes half a megabyte for each time that it is named.
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

  ofKeys(keys: Iterable<unknown>): string | undefined {
    let count = 0;
    for (const key of keys) if (typeof key === 'bigint' && key !== BigInt.asIntN(64, key)) count++;
    if (count <= MOST_LONG_INTEGERS) return undefined;
    return `a collection by more than ${MOST_LONG_INTEGERS} bigints beyond 64 bits`;
  }
}

/** Of the schemes whose hosts are domain names; the parser leaves those of others as they are. */
const HOST = /^(?:https?|wss?|ftp|file):[/\\]*([^/\\?#]*)/i;

function hostOf(href: string): string | undefined {
  // The parser takes no notice of them, wherever they stand.
  // oxlint-disable-next-line no-control-regex
  const authority = HOST.exec(href.replace(/^[\0-\x20]+|[\t\n\r]+/g, ''))?.[1];
  return authority?.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '');
}

/** The payload itself and `data` stand around what a job carries. */
const LEVELS = MAX_DEPTH + 2;

/** A text with as many brackets has at least this length; looking for them in shorter ones would be in vain. */
const SHORTEST_DEEP_TEXT = 2 * LEVELS;

/**
 * @param fields what `text` was parsed to
 * @throws InvalidPayloadError on a key such as `__proto__`, however it is spelled, and when values stand too deep in each other
 */
export function checkNesting(text: string, fields: object): void {
  // A text may spell such a key by the codes of its characters.
  const mayHoldForbidden = text.includes('\\u') || FORBIDDEN.some((key) => text.includes(key));
  if (text.length > SHORTEST_DEEP_TEXT || mayHoldForbidden) walk(fields);
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

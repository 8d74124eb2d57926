/**
 * What a payload may not hold, because reading it would take long or much memory, however short it is.
 *
 * The measure is a text of a megabyte: it must be read within a fraction of a second. Both sides ask the same, so that what
 * no worker would read is refused where it is dispatched.
 */

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

export function forbiddenKeyOf(holder: object): string | undefined {
  return FORBIDDEN.find((key) => Object.hasOwn(holder, key));
}

/** Whether a text of JSON may have such a key: if it names it, or spells something by its code. */
export function mayHoldForbiddenKey(text: string): boolean {
  return text.includes('\\u') || FORBIDDEN.some((key) => text.includes(key));
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

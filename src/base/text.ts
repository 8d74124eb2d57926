/** Texts in messages and logs: foreign text made harmless, values in words, and the words that a mistyped one may have meant. */
import { inspect } from 'node:util';
import type { Description } from './onqueue-error';

/** Control characters, Unicode line breaks, and characters that change the direction of writing, which could disguise a line. */
const HARMFUL = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
/** Plain ASCII, like nearly all ids and names: much faster to test. */
const ORDINARY = /^[ -~]*$/;
/** Also the marks of Arabic and Hebrew texts. They are part of a text, but a line that shows them raw may be read in another order. */
const ALL_HARMFUL = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/**
 * Commands to a terminal: those with a text up to its end, such as a window's title; and those with numbers, such as a colour.
 * Each stops at the next one, so that a text costs no more than its length: `stripVTControlCharacters` of Node.js takes 0.6 s for
 * 16 kB of `;?`.
 */
const COMMANDS =
  // oxlint-disable-next-line no-control-regex
  /(?:\u001b\]|\u009d)[^\u0007\u001b\u009c\u009d]*(?:\u0007|\u001b\\|\u009c)|(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|\u001b(?:[ #%()*+][0-~]|[78=>@-Z^-~])/gu;

const WRITTEN: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Whether the text can be shown unchanged in the middle of a line. */
export function isPlain(text: string): boolean {
  return ORDINARY.test(text) || !HARMFUL.test(text);
}

export const LONGEST_NAME = 255;

/** Nearly all names, if they are not too long: a quick look before `isName`. */
export const ORDINARY_NAME = /^[ -~]+$/;

/** The rule for names, for errors. */
export const NAME_RULE = `1 to ${LONGEST_NAME} characters, none of them a control character`;

/** Whether a text may be a name or an id: those appear in log lines, lists and keys, whoever wrote them. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME && isPlain(value);
}

/** For the middle of a line: harmful characters become escapes, and the text is cut after `longest` characters. */
export function oneLine(text: string, longest = Infinity): string {
  const shown = text.length > longest ? `${text.slice(0, longest)}…` : text;
  if (ORDINARY.test(shown)) return shown;
  return shown.replace(COMMANDS, '').replace(ALL_HARMFUL, escaped).toWellFormed();
}

/** For a text with several lines, such as a stack: keeps line breaks and tabs. */
export function manyLines(text: string): string {
  if (ORDINARY.test(text)) return text;
  const keep = (character: string): string =>
    character === '\n' || character === '\t' ? character : escaped(character);
  return text.replace(COMMANDS, '').replace(ALL_HARMFUL, keep).toWellFormed();
}

/** Ends foreign text with a full stop, unless it already ends with punctuation, so that a sentence can follow. */
export function sentence(text: string): string {
  return /[.!?:;…]$/u.test(text) ? text : `${text}.`;
}

/** For JSON, in which all these characters may be written as escapes. */
export function plainJson(json: string): string {
  return ORDINARY.test(json)
    ? json
    : json.replace(ALL_HARMFUL, (character) => (character === '\n' ? character : escaped(character)));
}

function escaped(character: string): string {
  return WRITTEN[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** The value on one short line, strings in quotes. @param depth how many levels of nested objects are shown */
export function valueText(value: unknown, depth = 1): string {
  if (typeof value === 'function') return value.name === '' ? 'a function' : `the function ${value.name}`;
  return oneLine(inspect(value, { depth, breakLength: Infinity, maxStringLength: 60, maxArrayLength: 5 }));
}

/** Its type, with an article. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** The content of an error about a value that cannot be given there. */
export function invalidValue(
  subject: string,
  value: unknown,
  remedy: string,
): Description<{ readonly subject: string; readonly value: unknown }> {
  return { message: `${subject}: ${valueText(value)} is not valid. ${remedy}`, facts: { subject, value } };
}

/** The `most` nearest words, nearest first. Empty if all are too far off. Ignores case. */
export function nearest(word: string, known: readonly string[], most = 3): string[] {
  // A third of the letters: nearly every word is near a short one, and a far-fetched hint misleads.
  const limit = Math.floor(word.length / 3);
  return known
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase(), limit) }))
    .filter(({ distance }) => distance <= limit)
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ candidate }) => candidate);
}

// Optimal string alignment: insert, remove, replace, or swap two neighbours (the most common slip).
function distance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const line = [row];
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(at(last, column) + 1, at(line, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      }
      line.push(cost);
    }
    beforeLast = last;
    last = line;
  }
  return at(last, b.length);
}

function at(line: readonly number[], column: number): number {
  return line[column] ?? Infinity;
}

/** Quotes a text so that a shell takes it for one word, and expands no pattern in it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

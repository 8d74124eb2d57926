/** Takes from a text that came from outside what it could do to a log or a terminal: to add lines, to move, to colour. */
import { stripVTControlCharacters } from 'node:util';

/** Control characters, the line breaks of Unicode, and what turns the direction of writing, so that a line lies. */
const HARMFUL = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/u;
/** Of ASCII alone, as nearly every id and name is: found out in a fraction of the time. */
const ORDINARY = /^[ -~]*$/;
const ALL_HARMFUL = new RegExp(HARMFUL, 'gu');

const WRITTEN: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Whether the text can be shown as it is, in the middle of a line. */
export function isPlain(text: string): boolean {
  return ORDINARY.test(text) || !HARMFUL.test(text);
}

/** For the middle of a line: harmful characters as escapes, and no more than `longest` characters of it. */
export function oneLine(text: string, longest = Infinity): string {
  const shown = text.length > longest ? `${text.slice(0, longest)}…` : text;
  if (isPlain(shown)) return shown.toWellFormed();
  return stripVTControlCharacters(shown).replace(ALL_HARMFUL, escaped).toWellFormed();
}

/** For a text with lines of its own, such as a stack: its line breaks and tabs stay. */
export function manyLines(text: string): string {
  const keep = (character: string): string =>
    character === '\n' || character === '\t' ? character : escaped(character);
  return stripVTControlCharacters(text).replace(ALL_HARMFUL, keep).toWellFormed();
}

/** For what somebody else wrote, where a sentence follows it: with a stop at its end, if it has none. */
export function sentence(text: string): string {
  return /[.!?:;…]$/u.test(text) ? text : `${text}.`;
}

function escaped(character: string): string {
  return WRITTEN[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

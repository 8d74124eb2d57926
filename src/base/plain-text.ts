/** Removes from foreign text what could harm a log or a terminal: new lines, cursor movement, colours. */
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

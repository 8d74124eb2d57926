/** The part of an error that jobs share which failed for the same reason. */

/** Longest text, in characters. */
const LONGEST = 160;

/** `Error: customer gone-17 is unknown` → `Error: customer`: the first line, up to the part that differs from job to job. */
export function commonText(exception: string): string {
  // HTML forms do not return line ends and lone surrogates unchanged.
  const [line = ''] = /[^\r\n\0\p{Cs}]+/u.exec(exception) ?? [];
  const pieces = piecesOf(line.slice(0, LONGEST));
  const [first = ''] = pieces;
  // If the error begins with a part that differs, its class alone would say too little.
  if (!/^[\w$]*:?$/.test(first)) return first;
  const longest = pieces.reduce((one, other) => (other.length > one.length ? other : one), first);
  return longest === '' ? line.slice(0, LONGEST).trim() : longest;
}

/** The texts between words that look like numbers, ids, names or places. */
function piecesOf(line: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  let before = '';
  for (const { 0: word, index } of line.matchAll(/\S+/g)) {
    if (differs(word, before)) {
      pieces.push(line.slice(start, index).trim());
      start = index + word.length;
    }
    before = word;
  }
  return [...pieces, line.slice(start).trim()];
}

function differs(word: string, before: string): boolean {
  // The status of a response says what went wrong.
  if (/^[1-5]\d\d\b/.test(word) && /^(status|code|http\S*)[:=]?$|:$/i.test(before)) return false;
  return /[\d'"`“”«»@]|^[/\\<{[]/.test(word);
}

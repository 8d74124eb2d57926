/** Reads what only the text of a class can tell: its `#private` members, and the names of its parameters. */

// Comments, strings, templates, and regular expressions (told from divisions by what stands before them).
const LITERALS =
  /\/\/[^\n]*|\/\*[^]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\[^]|[^`\\])*`|(?<=(?:[=(,:;!&|?{[+\-*%<>~^]|\breturn)\s*)\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\//g;

const OPENING = '([{';
const CLOSING = ')]}';

/** Instance members with a `#` that the class declares. They live outside of its properties, so they cannot travel. */
export function privateMembers(source: string): string[] {
  if (!source.includes('#')) return [];
  const text = withoutLiterals(source);
  const found = new Set<string>();
  for (const match of text.matchAll(/#([\w$]+)/g)) {
    const before = text.slice(0, match.index).trimEnd();
    const isUse = before.endsWith('.');
    if (!isUse && !isStatic(before) && depthAt(text, match.index) === 1) found.add(match[0]);
  }
  return [...found];
}

/** The parameters of a function, or of a class's constructor; undefined for one that is taken apart (`{ a }`). */
export function parameterNames(source: string): (string | undefined)[] {
  const text = withoutLiterals(source);
  const start = text.startsWith('class') ? constructorStart(text) : text.indexOf('(');
  if (start === -1) return [];
  const parameters: string[] = [''];
  for (let index = start + 1, depth = 1; index < text.length; index++) {
    const character = text.charAt(index);
    depth += step(character);
    if (depth === 0) break;
    if (depth === 1 && character === ',') parameters.push('');
    else parameters.push(`${parameters.pop()}${character}`);
  }
  return parameters.map((parameter) => /^[\s.]*([\w$]+)/.exec(parameter)?.[1]);
}

function withoutLiterals(source: string): string {
  return source.replace(LITERALS, (literal) => ' '.repeat(literal.length));
}

function isStatic(before: string): boolean {
  return /(?:^|[\s;{}])static\s*(?:\basync\s*)?(?:\b[gs]et\s*)?\*?$/.test(before);
}

function constructorStart(text: string): number {
  for (const match of text.matchAll(/(?<![\w$.#])constructor\s*\(/g)) {
    if (depthAt(text, match.index) === 1) return match.index + match[0].length - 1;
  }
  return -1;
}

function depthAt(text: string, end: number): number {
  let depth = 0;
  for (let index = 0; index < end; index++) depth += step(text.charAt(index));
  return depth;
}

function step(character: string): number {
  if (OPENING.includes(character)) return 1;
  return CLOSING.includes(character) ? -1 : 0;
}

/** Reads what only the text of a class can tell: its `#private` members, and the names of its parameters. */
import { codeAlone } from './code-text';

const OPENING = '([{';
const CLOSING = ')]}';

/** Brackets, names, and every other character but spaces. */
const TOKENS = /#?(?:[\p{ID_Continue}$\u200c\u200d]|\\u[\da-fA-F]{4}|\\u\{[\da-fA-F]+\})+|\S/gu;

/** What may stand between `static` and the name of a member. */
const MODIFIERS: ReadonlySet<string> = new Set(['static', 'async', 'get', 'set', 'accessor', '*']);

/** Instance members with a `#` that the class declares. They live outside of its properties, so they cannot travel. */
export function privateMembers(source: string): string[] {
  if (!source.includes('#')) return [];
  const tokens = codeAlone(source).match(TOKENS) ?? [];
  const found = new Set<string>();
  let isStatic = false;
  for (let index = 0, depth = 0; index < tokens.length; index++) {
    const token = tokens[index]!;
    depth += step(token);
    const isUse = tokens[index - 1] === '.' || tokens[index + 1] === 'in';
    if (depth === 1 && token.length > 1 && token.startsWith('#') && !isUse && !isStatic) found.add(token);
    isStatic = token === 'static' || (isStatic && MODIFIERS.has(token));
  }
  return [...found];
}

/** The parameters of a function, or of a class's constructor; undefined for one that is taken apart (`{ a }`). */
export function parameterNames(source: string): (string | undefined)[] {
  const text = codeAlone(source);
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

/**
 * Reads what only the source text of a class can tell: its `#private` members, which cannot travel, and the names of its
 * parameters, for errors. The engine has no API that lists the private members of a class without an instance.
 */
import { Script } from 'node:vm';

const PRIVATE_NAME = /#[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/gu;

/**
 * The `#private` members that instances of the class carry.
 *
 * The engine's own parser finds them: a class that declares `#a` does not compile with a second `#a` added to it.
 */
export function privateMembers(source: string): string[] {
  // `#constructor` is not a legal name, and `import.meta` compiles only in modules.
  const names = [...new Set(source.match(PRIVATE_NAME))].filter((name) => name !== '#constructor');
  const text = source.replaceAll(/\bimport\s*\.\s*meta\b/g, 'import_meta');
  // The class may use private names of an enclosing class.
  const compiles = (code: string): boolean => isScript(`(class { ${names.join(';')}; async m() { (${code}); } })`);
  if (names.length === 0 || !compiles(text)) return [];
  return names.filter((name) => !compiles(`${text.slice(0, -1)}\n;${name};}`) && !isStatic(name, text));
}

function isStatic(name: string, source: string): boolean {
  const member = name.replaceAll('$', String.raw`\$`);
  const declaration = String.raw`\bstatic\s+(?:(?:async|get|set|accessor)\s+)?\*?\s*${member}(?![\p{ID_Continue}$])`;
  return new RegExp(declaration, 'u').test(source);
}

function isScript(text: string): boolean {
  try {
    return new Script(text) instanceof Script;
  } catch {
    return false;
  }
}

/** The parameters of a function, or of a class's constructor, up to the first one with a default or a destructuring pattern. */
export function parameterNames(source: string): string[] {
  const start = source.startsWith('class') ? /(?<![\w$.#])constructor\s*\(/ : /\(/;
  const [list = ''] = source.slice(source.search(start)).replace(start, '').split(')', 1);
  const names: string[] = [];
  for (const parameter of list.replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, '').split(',')) {
    const [, name, more] = /^\s*(?:\.{3})?([\p{ID_Continue}$]+)\s*(=?)/u.exec(parameter) ?? [];
    if (name === undefined) break;
    names.push(name);
    if (more === '=') break;
  }
  return names;
}

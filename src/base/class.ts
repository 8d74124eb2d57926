/**
 * What a class tells of itself beyond its members: its parent, the file that declares it, its `#private` members and the names of
 * its parameters.
 */
import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Script } from 'node:vm';

/** Any class, including those with a protected constructor. */
// oxlint-disable-next-line typescript/no-unsafe-function-type
export type Class<T extends object = object> = Function & { readonly prototype: T };

/**
 * The class of an instance. Undefined for a class, a value that is not an object, and an object without a class. Read from the
 * prototype: an own property `constructor` is data.
 */
export function classOf(value: unknown): Class | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const prototype = Object.getPrototypeOf(value) as { readonly constructor?: unknown } | null;
  const target = prototype?.constructor;
  return typeof target === 'function' && target.prototype === prototype ? target : undefined;
}

/** Nobody gives a class so short a name, but minifiers do, and the next build may give the name to another class. */
export function isMinified(name: string): boolean {
  return /^[\w$]{1,2}$/.test(name);
}

/** The class that it extends. */
export function parentOf(target: Class): Class | undefined {
  const above: unknown = Object.getPrototypeOf(target);
  return typeof above === 'function' && above !== Function.prototype ? above : undefined;
}

/** Frames between a class and its decorator: those of compilers and of reflect-metadata. */
const BETWEEN = /[\\/]node_modules[\\/](?:reflect-metadata|tslib|@swc[\\/]helpers)[\\/]|^node:/;

/** How bundlers name the source of a module that they evaluate from text. */
const BUNDLED_SOURCE = /^(?:webpack-internal|webpack|turbopack):\/+(?:\[project\]\/|\([^)]*\)\/)?(.+)$/;

/** How Vite names a file outside its root. */
const SERVED_SOURCE = /^\/@fs(?=\/)/;

const FRAMES = 20;

/**
 * Finds the file that declares a class, from the stack of its decorator: that of the nearest frame outside `decorator`. Undefined
 * if the stack does not tell. Errors name this file, and it tells one class that was loaded twice from two classes with one name.
 * Neither the class nor the decorator's arguments contain it.
 */
// oxlint-disable-next-line typescript/no-unsafe-function-type
export function declaredIn(decorator: Function): string | undefined {
  // oxlint-disable-next-line typescript/unbound-method -- put back as it was, never called
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: unknown } = {};
  try {
    Error.stackTraceLimit = FRAMES;
    Error.prepareStackTrace = (_error, frames) => frames.map(scriptOf);
    Error.captureStackTrace(holder, decorator);
    const scripts = holder.stack;
    if (!Array.isArray(scripts)) return undefined;
    const script = scripts.map(String).find((name) => name !== '' && !BETWEEN.test(name));
    return script === undefined ? undefined : fileOf(script);
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

const UNNAMED = 'eval:';

// Returns '' for frames of the engine itself, such as a forEach.
function scriptOf(frame: NodeJS.CallSite): string {
  return frame.getFileName() ?? frame.getScriptNameOrSourceURL() ?? (frame.isEval() ? UNNAMED : '');
}

/**
 * The source file. Undefined for virtual modules, and for the output of a framework (`.next`, `.nuxt`, …), where one class may be
 * in several files.
 */
function fileOf(script: string): string | undefined {
  const [id = ''] = script.split(/[?#]/);
  if (id.startsWith('file:')) return written(fileURLToPath(id));
  const source = BUNDLED_SOURCE.exec(id)?.[1];
  const file = source === undefined ? id.replace(SERVED_SOURCE, '') : resolve(source);
  return isAbsolute(file) && existsSync(file) ? written(file) : undefined;
}

function written(file: string): string | undefined {
  const folders = relativeFile(file).split(sep).slice(0, -1);
  return folders.some((folder) => /^\.[^.]/.test(folder)) ? undefined : file;
}

/** Whether two paths lead to one file. */
export function isOneFile(first: string, second: string): boolean {
  return first === second || realPath(first) === realPath(second);
}

function realPath(file: string): string {
  try {
    return realpathSync.native(file);
  } catch {
    return file;
  }
}

/** A path as people know it: relative to the working folder if it is inside. */
export function relativeFile(file: string): string {
  const inside = relative(process.cwd(), file);
  return isAbsolute(inside) || inside.startsWith('..') ? file : inside;
}

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

/**
 * Finds the file that declares a class, from the stack of its decorator. Errors name this file, and it tells one class that was
 * loaded twice from two classes with one name. Neither the class nor the decorator's arguments contain it.
 */
import { existsSync, realpathSync } from 'node:fs';
import { isAbsolute, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Frames between a class and its decorator: those of compilers and of reflect-metadata. */
const BETWEEN = /[\\/]node_modules[\\/](?:reflect-metadata|tslib|@swc[\\/]helpers)[\\/]|^node:/;

/** How bundlers name the source of a module that they evaluate from text. */
const BUNDLED_SOURCE = /^(?:webpack-internal|webpack|turbopack):\/+(?:\[project\]\/|\([^)]*\)\/)?(.+)$/;

/** How Vite names a file outside its root. */
const SERVED_SOURCE = /^\/@fs(?=\/)/;

const FRAMES = 20;

/** The file of the nearest frame outside `decorator`. Undefined if the stack does not tell. */
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

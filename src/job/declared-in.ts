/** Finds the file that a class is declared in, from the stack of its decorator. */
import { isAbsolute, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What stands between a class and its decorator: the compilers' and reflect-metadata's own frames. */
const BETWEEN = /[\\/]node_modules[\\/](?:reflect-metadata|tslib|@swc[\\/]helpers)[\\/]|^node:/;

const FRAMES = 20;

/** The file of the nearest frame outside `decorator`; undefined where the stack does not tell. */
// oxlint-disable-next-line typescript/no-unsafe-function-type
export function declaredIn(decorator: Function): string | undefined {
  // oxlint-disable-next-line typescript/unbound-method -- put back as it was, never called
  const { prepareStackTrace, stackTraceLimit } = Error;
  const holder: { stack?: unknown } = {};
  try {
    Error.stackTraceLimit = FRAMES;
    Error.prepareStackTrace = (_error, frames) => frames.map((frame) => frame.getFileName() ?? '');
    Error.captureStackTrace(holder, decorator);
    const files = holder.stack;
    if (!Array.isArray(files)) return undefined;
    const file = files.map(String).find((name) => name !== '' && !BETWEEN.test(name));
    return file?.startsWith('file:') ? fileURLToPath(file) : file;
  } finally {
    Error.prepareStackTrace = prepareStackTrace;
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** As people know it: from the working folder, when it lies inside. */
export function relativeFile(file: string): string {
  const inside = relative(process.cwd(), file);
  return isAbsolute(inside) || inside.startsWith('..') ? file : inside;
}

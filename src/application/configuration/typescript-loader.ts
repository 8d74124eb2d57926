/**
 * Lets `require` load TypeScript files, compiled by @swc/core: for `onqueue.config.ts`, and for `--require`.
 *
 * esbuild's runners emit no types for decorated parameters, and the type stripping of Node.js knows no decorators, so jobs would
 * lose their injected dependencies there. This loader compiles as our documentation tells users to.
 */
/* oxlint-disable no-underscore-dangle -- the hooks of node:module are called so */
import { existsSync, readFileSync } from 'node:fs';
import Module, { SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, resolve } from 'node:path';
import { noTypeScriptLoader } from '../errors';
import { mappedPaths } from './tsconfig-paths';

/** The part of @swc/core that we use. The package is optional, so we cannot rely on its types. */
interface Compiler {
  transformSync(source: string, options: object): { readonly code: string };
}

interface LoadedModule {
  _compile(code: string, filename: string): void;
}

/** Parts of `node:module` that its types do not show. */
interface Loader {
  readonly _extensions: Record<string, ((module: LoadedModule, filename: string) => void) | undefined>;
  _resolveFilename: (request: string, parent: { readonly filename?: string } | undefined, ...rest: unknown[]) => string;
}

const loader = Module as unknown as Loader;

/**
 * Makes `require` understand `.ts` and `.cts`. Does nothing if something else already does (tsx, ts-node, Jest).
 *
 * @param file the TypeScript file that is about to be loaded: @swc/core is looked for from its folder
 * @throws E_TYPESCRIPT_LOADER
 */
export function loadTypeScript(file: string): void {
  if (isUnderstood()) return;
  const compiler = findCompiler(file);
  const compile = (module: LoadedModule, filename: string): void => {
    const source = readFileSync(filename, 'utf8');
    const { code } = compiler.transformSync(source, optionsFor(filename));
    try {
      module._compile(code, filename);
    } catch (error) {
      if (error instanceof SyntaxError) leadToSource(error, filename, source, code);
      throw error;
    }
  };
  loader._extensions['.ts'] = compile;
  loader._extensions['.cts'] = compile;
  resolveAsCompiled();
  process.setSourceMapsEnabled(true);
}

/** The stack of a syntax error begins with the line of compiled code, because Node.js reads source maps only of code that runs. */
function leadToSource(error: SyntaxError, filename: string, source: string, code: string): void {
  const { stack = '' } = error;
  const [excerpt = '', line, indent = ''] = /^.*:(\d+)\n.*\n( *)\^+\n/.exec(stack) ?? [];
  if (!excerpt.startsWith(`${filename}:`)) return;
  const map = Buffer.from(code.slice(code.lastIndexOf(',') + 1), 'base64').toString();
  const entry = new SourceMap(JSON.parse(map) as SourceMapPayload).findEntry(Number(line) - 1, indent.length);
  if (!('originalLine' in entry)) return;
  const { originalLine, originalColumn } = entry;
  const place = [`${filename}:${originalLine + 1}`, source.split('\n')[originalLine], `${' '.repeat(originalColumn)}^`];
  error.stack = `${place.join('\n')}\n${stack.slice(excerpt.length)}`;
}

// Jest transforms what its own require loads, and never calls the hooks of Node.js.
function isUnderstood(): boolean {
  const present = loader._extensions['.ts'];
  const isTypeStripping = present?.name === 'loadTS';
  return process.env['JEST_WORKER_ID'] !== undefined || (present !== undefined && !isTypeStripping);
}

function findCompiler(file: string): Compiler {
  try {
    const path = require.resolve('@swc/core', { paths: [dirname(file), __dirname] });
    return require(path) as Compiler;
  } catch (cause) {
    throw noTypeScriptLoader(file, cause);
  }
}

function optionsFor(filename: string): object {
  return {
    filename,
    swcrc: false,
    configFile: false,
    sourceMaps: 'inline',
    module: { type: 'commonjs' },
    jsc: {
      target: 'es2022',
      keepClassNames: true,
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    },
  };
}

/** Finds what the compiler finds: './jobs.ts' for './jobs.js', as TypeScript with module nodenext writes it, and `paths`. */
function resolveAsCompiled(): void {
  const original = loader._resolveFilename;
  loader._resolveFilename = (request, parent, ...rest) => {
    const importer = parent?.filename;
    const find = (name: string): string => original.call(loader, name, parent, ...rest);
    if (importer === undefined || !/\.c?ts$/.test(importer)) return find(request);
    for (const path of mappedPaths(request, importer)) {
      try {
        return found(find, path);
      } catch {
        // Try the next one, then a package.
      }
    }
    return found(find, request, dirname(importer));
  };
}

function found(find: (name: string) => string, name: string, folder = ''): string {
  try {
    return find(name);
  } catch (error) {
    const source = /^(\.{0,2}\/|[A-Za-z]:\\).*\.c?js$/.test(name)
      ? resolve(folder, name.replace(/js$/, 'ts'))
      : undefined;
    if (source !== undefined && existsSync(source)) return source;
    throw error;
  }
}

/**
 * Lets `require` take TypeScript files, compiled by @swc/core: for `onqueue.config.ts`, and for `--require`.
 *
 * esbuild's runners emit no types for decorated parameters and Node.js' own type stripping knows no decorators, so jobs
 * would lose their injected dependencies there; this one compiles as the documentation tells users to.
 */
/* oxlint-disable no-underscore-dangle -- the hooks of node:module are called so */
import { existsSync, readFileSync } from 'node:fs';
import Module from 'node:module';
import { dirname, resolve } from 'node:path';
import { TypeScriptLoaderError } from './errors';

/** The part of @swc/core that is used here; it is optional, so its types cannot be relied on. */
interface Compiler {
  transformSync(source: string, options: object): { readonly code: string };
}

interface LoadedModule {
  _compile(code: string, filename: string): void;
}

/** What `node:module` has and its types do not show. */
interface Loader {
  readonly _extensions: Record<string, ((module: LoadedModule, filename: string) => void) | undefined>;
  _resolveFilename: (request: string, parent: { readonly filename?: string } | undefined, ...rest: unknown[]) => string;
}

const loader = Module as unknown as Loader;

/**
 * Makes `require` understand `.ts` and `.cts`. Does nothing where something else does already (tsx, ts-node, Jest).
 *
 * @param file the TypeScript file that is about to be loaded: @swc/core is looked for from its folder
 * @throws TypeScriptLoaderError
 */
export function loadTypeScript(file: string): void {
  if (isUnderstood()) return;
  const compiler = findCompiler(file);
  const compile = (module: LoadedModule, filename: string): void => {
    module._compile(compiler.transformSync(readFileSync(filename, 'utf8'), optionsFor(filename)).code, filename);
  };
  loader._extensions['.ts'] = compile;
  loader._extensions['.cts'] = compile;
  resolveCompiledNames();
  process.setSourceMapsEnabled(true);
}

// Jest transforms what its own require loads, and never asks the hooks of Node.js.
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
    throw new TypeScriptLoaderError(file, { cause });
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

// TypeScript of module nodenext imports './jobs.js' and means './jobs.ts', as the compiler would make of it.
function resolveCompiledNames(): void {
  const original = loader._resolveFilename;
  loader._resolveFilename = (request, parent, ...rest) => {
    try {
      return original.call(loader, request, parent, ...rest);
    } catch (error) {
      const source = sourceOf(request, parent?.filename);
      if (source === undefined) throw error;
      return source;
    }
  };
}

function sourceOf(request: string, importer: string | undefined): string | undefined {
  if (importer === undefined || !/^\.{1,2}\/.*\.c?js$/.test(request) || !/\.c?ts$/.test(importer)) return undefined;
  const source = resolve(dirname(importer), request.replace(/js$/, 'ts'));
  return existsSync(source) ? source : undefined;
}

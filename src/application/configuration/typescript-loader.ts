/**
 * Lets `require` load TypeScript files, compiled by @swc/core: for `onqueue.config.ts`, and for `--require`. Names are resolved by
 * `paths` and `baseUrl` of the nearest tsconfig.json, because a worker must find what the compiler finds.
 *
 * esbuild's runners emit no types for decorated parameters, and the type stripping of Node.js knows no decorators, so jobs would
 * lose their injected dependencies there. This loader compiles as our documentation tells users to.
 */
/* oxlint-disable no-underscore-dangle -- the hooks of node:module are called so */
import { existsSync, readFileSync } from 'node:fs';
import Module, { createRequire, SourceMap, type SourceMapPayload } from 'node:module';
import { dirname, resolve, join, sep } from 'node:path';
import { isUnderJest } from '../../base/environment';
import { noTypeScriptLoader, configFileFailed } from '../errors';

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
  return isUnderJest() || (present !== undefined && !isTypeStripping);
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

/** What one tsconfig.json says, including all that it extends. */
interface Mapping {
  /** Names that fit no path are looked for here. */
  readonly baseUrl?: string | undefined;
  readonly paths?: readonly PathPattern[] | undefined;
}

interface PathPattern {
  /** The text before and after the `*`. Without a `*`: the whole name, and undefined. */
  readonly before: string;
  readonly behind: string | undefined;
  /** Absolute, in the order in which they are tried. */
  readonly targets: readonly string[];
}

interface Tsconfig {
  readonly extends?: string | readonly string[];
  readonly compilerOptions?: {
    readonly baseUrl?: string;
    readonly paths?: Readonly<Record<string, readonly string[]>>;
  };
}

const mappings = new Map<string, Mapping>();

/**
 * Files that `request` may mean, without their endings, in the order in which they are tried. Empty if no mapping applies.
 *
 * @throws E_CONFIG_FILE the tsconfig.json is not JSON
 */
export function mappedPaths(request: string, importer: string): readonly string[] {
  if (/^[./]/.test(request) || Module.isBuiltin(request) || importer.includes(`${sep}node_modules${sep}`)) return [];
  const { baseUrl, paths = [] } = mappingOf(dirname(importer));
  const fitting = paths.filter((pattern) => fits(pattern, request));
  // An exact name first, then the longest prefix: the compiler's order.
  const [best] = fitting.toSorted((one, other) => rank(other) - rank(one));
  const mapped = best?.targets.map((target) => target.replace('*', () => starOf(best, request))) ?? [];
  return [...mapped, ...(baseUrl === undefined ? [] : [join(baseUrl, request)])];
}

function fits({ before, behind }: PathPattern, request: string): boolean {
  if (behind === undefined) return request === before;
  return request.length >= before.length + behind.length && request.startsWith(before) && request.endsWith(behind);
}

const rank = ({ before, behind }: PathPattern): number => (behind === undefined ? Infinity : before.length);

const starOf = ({ before, behind = '' }: PathPattern, request: string): string =>
  request.slice(before.length, request.length - behind.length);

function mappingOf(folder: string): Mapping {
  const known = mappings.get(folder);
  if (known !== undefined) return known;
  const file = join(folder, 'tsconfig.json');
  const isRoot = dirname(folder) === folder;
  const mapping = existsSync(file) ? read(file, folder, []) : isRoot ? {} : mappingOf(dirname(folder));
  mappings.set(folder, mapping);
  return mapping;
}

/** @param project the value of `${configDir}`: the folder of the file that extends all others */
function read(file: string, project: string, extended: readonly string[]): Mapping {
  // The compiler reports a file that extends itself.
  if (extended.includes(file)) return {};
  const { extends: parents = [], compilerOptions = {} } = parsed(file);
  const inherited = [parents].flat().map((parent) => {
    const found = parentOf(parent, file);
    return found === undefined ? {} : read(found, project, [...extended, file]);
  });
  const here = (path: string): string => resolve(dirname(file), path.replace('${configDir}', project));
  const baseUrl = compilerOptions.baseUrl === undefined ? undefined : here(compilerOptions.baseUrl);
  const base = baseUrl ?? inherited.findLast((parent) => parent.baseUrl !== undefined)?.baseUrl;
  const paths = Object.entries(compilerOptions.paths ?? {}).map(([name, targets]) => {
    const [before = '', behind] = name.split('*');
    const from = (target: string): string => (base === undefined ? here(target) : resolve(base, target));
    return { before, behind, targets: targets.map(from) };
  });
  return {
    baseUrl: base,
    paths:
      compilerOptions.paths === undefined ? inherited.findLast((parent) => parent.paths !== undefined)?.paths : paths,
  };
}

/** Undefined if it does not exist: it may come from a development-only package, and contain no paths of ours. */
function parentOf(name: string, file: string): string | undefined {
  const found = createRequire(file);
  for (const candidate of [name, `${name}.json`, `${name}/tsconfig.json`]) {
    try {
      const path = /^\.{0,2}\//.test(candidate) ? resolve(dirname(file), candidate) : found.resolve(candidate);
      if (path.endsWith('.json') && existsSync(path)) return path;
    } catch {
      // Try the next one.
    }
  }
  return undefined;
}

function parsed(file: string): Tsconfig {
  // Removes comments and trailing commas, but not from within texts.
  const plain = readFileSync(file, 'utf8')
    .replace(/^\uFEFF/, '')
    .replaceAll(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, '$1')
    .replaceAll(/("(?:\\.|[^"\\])*")|,(?=\s*[}\]])/g, '$1');
  try {
    return (JSON.parse(plain) ?? {}) as Tsconfig;
  } catch (cause) {
    throw configFileFailed(file, cause instanceof Error ? cause.message : String(cause), cause);
  }
}

/**
 * Resolves names by `paths` and `baseUrl` of the nearest tsconfig.json: a worker that loads TypeScript must find what the
 * compiler finds. As in tsx, they do not apply to files in node_modules.
 */
import { existsSync, readFileSync } from 'node:fs';
import Module, { createRequire } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { configFileFailed } from '../errors';

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

/** The files of a project: those that `--require` names, whether they have changed, and its packages. */
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { loadTypeScript } from '../application/configuration/typescript-loader';
import type { Milliseconds } from '../base/clock';
import { nothingMatched, requiredFileFailed } from './errors';

/** Loads all files that the patterns name, in order. @throws E_NOTHING_MATCHED, E_REQUIRED_FILE, E_TYPESCRIPT_LOADER */
export function requireAll(patterns: readonly string[], folder: string): void {
  for (const file of patterns.flatMap((pattern) => filesOf(pattern, folder))) load(file);
}

function filesOf(pattern: string, folder: string): readonly string[] {
  const files = filesMatching(pattern, folder);
  if (files.length > 0) return files;
  const found = packageFile(pattern, folder);
  if (found !== undefined) return [found];
  const isFolder = statSync(resolve(folder, pattern), { throwIfNoEntry: false })?.isDirectory() === true;
  throw nothingMatched(
    '--require',
    pattern,
    folder,
    isFolder
      ? `It is a folder; name its files: "${join(pattern, '**', '*.js')}" (in quotes).`
      : 'Name a file, or a pattern such as "dist/jobs/**/*.js" (in quotes; wildcards are *, ** and ?). Without these files the worker would not know its jobs.',
  );
}

// `--require dotenv/config`, as for Node.js itself.
function packageFile(name: string, folder: string): string | undefined {
  if (/^[./]|[*?]/.test(name)) return undefined;
  try {
    return createRequire(join(folder, 'package.json')).resolve(name);
  } catch {
    return undefined;
  }
}

function load(file: string): void {
  if (/\.[cm]?ts$/.test(file)) loadTypeScript(file);
  try {
    require(file);
  } catch (cause) {
    throw requiredFileFailed(file, cause);
  }
}

const LOADABLE = /(?<!\.d)\.[cm]?[jt]s$/;

/**
 * The files that `pattern` names, sorted (Node.js 20 has no matcher); without wildcards it names itself. Wildcards match only scripts (compiled folders
 * have maps and declarations too), never enter `node_modules`, and enter folders with a dot only if the pattern says so.
 */
export function filesMatching(pattern: string, folder: string): string[] {
  const path = resolve(folder, pattern);
  if (!/[*?]/.test(pattern)) return isFile(path) ? [path] : [];
  const parts = path.split(sep);
  const wild = parts.findIndex((part) => /[*?]/.test(part));
  return [...new Set(walk(parts.slice(0, wild).join(sep) || sep, parts.slice(wild)))].toSorted();
}

function walk(folder: string, parts: readonly string[]): string[] {
  const [part = '', ...rest] = parts;
  const names = entriesOf(folder);
  if (part === '**') {
    const below = names.flatMap((name) => (isPassedOver(name) ? [] : walk(join(folder, name), parts)));
    return [...walk(folder, rest.length === 0 ? ['*'] : rest), ...below];
  }
  const matcher = matcherOf(part);
  return names
    .filter((name) => matcher.test(name))
    .flatMap((name) => {
      const path = join(folder, name);
      if (rest.length === 0) return LOADABLE.test(name) && isFile(path) ? [path] : [];
      return name === part || !isPassedOver(name) ? walk(path, rest) : [];
    });
}

function matcherOf(part: string): RegExp {
  const source = part
    .replace(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  // A leading wildcard does not match the dot of a hidden file.
  return new RegExp(`^${/^[*?]/.test(part) ? String.raw`(?!\.)` : ''}${source}$`, 'su');
}

function isPassedOver(folder: string): boolean {
  return folder === 'node_modules' || folder.startsWith('.');
}

/** Empty for anything but a folder. */
function entriesOf(folder: string): string[] {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true ? readdirSync(folder) : [];
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

const PACKAGES = `${sep}node_modules${sep}`;

/** Tells whether a file of the project has changed since this process loaded it: then the process runs old code. */
export class LoadedFiles {
  readonly #stamps: ReadonlyMap<string, Milliseconds | undefined>;
  readonly #changedEarly: boolean;

  /** Looks at the files that are loaded so far. */
  constructor(now: Milliseconds) {
    const files = Object.keys(require.cache).filter((file) => !file.includes(PACKAGES));
    this.#stamps = new Map(files.map((file) => [file, stampOf(file)]));
    // A file may have changed between loading and this look. Then it changed after the process started.
    const startedAt = now - process.uptime() * 1000;
    this.#changedEarly = [...this.#stamps.values()].some(
      (stamp) => stamp !== undefined && stamp > startedAt && stamp <= now,
    );
  }

  get haveChanged(): boolean {
    return this.#changedEarly || [...this.#stamps].some(([file, stamp]) => stampOf(file) !== stamp);
  }
}

function stampOf(file: string): Milliseconds | undefined {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs;
}

interface InstalledPackage {
  readonly version: string;
  readonly folder: string;
}

/** This package. */
export function ownPackage(): InstalledPackage {
  const found = packageAbove(__dirname, undefined);
  if (found === undefined) throw new Error(`There is no package.json above ${__dirname}.`);
  return found;
}

/** The packages that are also installed in production. */
export function dependenciesOf(folder: string): readonly string[] {
  const file = join(folder, 'package.json');
  const found = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { readonly dependencies?: object }) : {};
  return Object.keys(found.dependencies ?? {});
}

/** The package that a file in `folder` would import. */
export function installedPackage(name: string, folder: string): InstalledPackage | undefined {
  try {
    // We cannot resolve its package.json by name: `exports` may hide it.
    return packageAbove(dirname(createRequire(join(folder, 'package.json')).resolve(name)), name);
  } catch {
    return undefined;
  }
}

function packageAbove(start: string, name: string | undefined): InstalledPackage | undefined {
  for (let folder = start; dirname(folder) !== folder; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (!existsSync(file)) continue;
    const found = JSON.parse(readFileSync(file, 'utf8')) as { readonly name?: string; readonly version?: string };
    // Packages put further package.json files without a version into their folders of ES modules.
    if (found.version !== undefined && (name === undefined || found.name === name)) {
      return { version: found.version, folder: realpathSync(folder) };
    }
  }
  return undefined;
}

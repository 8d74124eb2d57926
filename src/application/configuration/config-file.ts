/** Finds and loads `onqueue.config.*`, where the configuration stands when nobody called `Queue.configure`. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { types } from 'node:util';
import type { Configuration } from './configuration';
import { configFileFailed, noTypeScriptLoader } from '../errors';
import { loadTypeScript } from './typescript-loader';

const SOURCE = 'onqueue.config.ts';
const CONFIG_FILES = [SOURCE, 'onqueue.config.js', 'onqueue.config.cjs', 'onqueue.config.mjs'] as const;

const HOW_TO_EXPORT = 'Write: export default defineConfig({ … }), or module.exports = { … }.';

/** Endings that somebody may expect to be read. */
const UNREAD_FILES = ['mts', 'cts', 'tsx', 'json', 'yaml', 'yml', 'toml'].map((ending) => `onqueue.config.${ending}`);

/** The nearest folder with a package.json, from `start` upward; `start` itself where there is none. */
export function projectFolder(start: string): string {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dirname(folder) === folder) return start;
  }
}

/**
 * The configuration file of the project in `root`, if it has one. Of TypeScript and what was compiled from it beside it, it is
 * the latter: where that is, in production, nothing compiles.
 *
 * @throws E_CONFIG_FILE there are two, or one that is not read: another store would be taken than the one it names
 */
export function findConfigFile(root: string): string | undefined {
  const present = [...CONFIG_FILES, ...UNREAD_FILES].filter((file) => existsSync(join(root, file)));
  const isCompiled = present.length === 2 && present[0] === SOURCE && !UNREAD_FILES.includes(present[1]!);
  const [name, other] = isCompiled ? present.slice(1) : present;
  if (name === undefined) return undefined;
  const file = join(root, name);
  if (other !== undefined) {
    throw configFileFailed(
      file,
      `${other} stands beside it, and nothing says which of the two is meant. Remove one of them.`,
    );
  }
  if (UNREAD_FILES.includes(name)) {
    throw configFileFailed(file, `no file of this ending is read. Make it one of ${CONFIG_FILES.join(', ')}.`);
  }
  return file;
}

/** What to say of a compiled file that is older than its source; undefined: nothing. */
export function staleRemark(file: string): string | undefined {
  const source = join(dirname(file), SOURCE);
  if (file === source || !existsSync(source) || statSync(source).mtimeMs <= statSync(file).mtimeMs) return undefined;
  return `${file} is used, and ${SOURCE} beside it was changed since: compile it again, or remove what was compiled.`;
}

/**
 * What the file exports; a promise, where that is a function that gives one. A file that is there but cannot be loaded is an
 * error: another store in its place would take jobs that nobody runs.
 *
 * @throws E_CONFIG_FILE, E_TYPESCRIPT_LOADER
 */
export function loadConfiguration(file: string): Configuration | Promise<Configuration> {
  const loaded = load(file);
  const exported = unwrapped(loaded);
  if (isModuleWithout('default', loaded) && !('connections' in loaded)) {
    throw configFileFailed(file, `it has no default export. ${HOW_TO_EXPORT}`);
  }
  if (typeof exported !== 'function') return configurationIn(file, exported, 'its default export is');
  const given = (value: unknown): Configuration => configurationIn(file, value, 'what its function gives is');
  const failed = (cause: unknown): never => {
    throw configFileFailed(file, problemOf(cause), cause);
  };
  let result: unknown;
  try {
    result = exported();
  } catch (cause) {
    failed(cause);
  }
  return types.isPromise(result) ? result.then(given, failed) : given(result);
}

function configurationIn(file: string, value: unknown, subject: string): Configuration {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw configFileFailed(
    file,
    `${subject} ${Array.isArray(value) ? 'an array' : `of type ${typeof value}`}, and no configuration. ${HOW_TO_EXPORT}`,
  );
}

/** Of an ES module, or of what a compiler made of one. */
function isModuleWithout(name: string, exported: unknown): exported is object {
  if (typeof exported !== 'object' || exported === null || name in exported) return false;
  return types.isModuleNamespaceObject(exported) || '__esModule' in exported;
}

function load(file: string): unknown {
  try {
    if (file.endsWith('.ts')) loadTypeScript(file);
    return require(file) as unknown;
  } catch (cause) {
    if (noTypeScriptLoader.is(cause)) throw cause;
    throw configFileFailed(file, problemOf(cause), cause);
  }
}

function problemOf(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ERR_REQUIRE_ASYNC_MODULE') {
    return 'it, or a module that it imports, uses await at its top level, which leaves nothing to wait for it. Move the await into a function.';
  }
  return cause instanceof Error ? cause.message : String(cause);
}

// A CommonJS file compiled from a default export has it in `exports.default`; required as an ES module, one level deeper.
function unwrapped(exported: unknown): unknown {
  let value = exported;
  for (let depth = 0; depth < 2; depth += 1) {
    if (typeof value !== 'object' || value === null || !('default' in value)) break;
    // `default` is also a key of a configuration, where it is the name of a connection.
    if (typeof value.default === 'string') break;
    value = value.default;
  }
  return value;
}

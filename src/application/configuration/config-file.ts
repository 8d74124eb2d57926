/** Finds and loads `onqueue.config.*`, the configuration of programs that do not call `Queue.configure`. */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { types } from 'node:util';
import type { Configuration } from './configuration';
import { isRecord } from '../../payload/values';
import { configFileFailed, problemOfLoading, noTypeScriptLoader } from '../errors';
import { loadTypeScript } from './typescript-loader';

const SOURCE = 'onqueue.config.ts';
const CONFIG_FILES = [SOURCE, 'onqueue.config.js', 'onqueue.config.cjs', 'onqueue.config.mjs'] as const;

const HOW_TO_EXPORT = 'Write: export default defineConfig({ … }), or module.exports = { … }.';

/** Endings that users may expect to work. */
const UNREAD_FILES = ['mts', 'cts', 'tsx', 'json', 'yaml', 'yml', 'toml'].map((ending) => `onqueue.config.${ending}`);

/** The nearest folder with a package.json, from `start` upward; `start` itself if there is none. */
export function projectFolder(start: string): string {
  for (let folder = start; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (dirname(folder) === folder) return start;
  }
}

/**
 * The configuration file of the project in `root`, if there is one. If a TypeScript file was compiled beside its source, the
 * compiled one: in production, where it exists, nothing compiles.
 *
 * @throws E_CONFIG_FILE there are two files, or one with an ending that we do not read: ignoring it would silently use another
 * store
 */
export function findConfigFile(root: string): string | undefined {
  const present = [...CONFIG_FILES, ...UNREAD_FILES].filter((file) => existsSync(join(root, file)));
  const isCompiled = present.length === 2 && present[0] === SOURCE && !UNREAD_FILES.includes(present[1]!);
  const [name, other] = isCompiled ? present.slice(1) : present;
  if (name === undefined) return undefined;
  const file = join(root, name);
  if (other !== undefined) {
    throw configFileFailed(file, `${other} is beside it, and it is unclear which of them is meant. Remove one.`);
  }
  if (UNREAD_FILES.includes(name)) {
    throw configFileFailed(file, `files with this ending are not read. Make it one of ${CONFIG_FILES.join(', ')}.`);
  }
  return file;
}

/** A warning about a compiled file that is older than its source. Undefined if it is not. */
export function staleRemark(file: string): string | undefined {
  const source = join(dirname(file), SOURCE);
  if (file === source || !existsSync(source) || statSync(source).mtimeMs <= statSync(file).mtimeMs) return undefined;
  return `${file} is used, but ${SOURCE} beside it is newer: compile it again, or remove the compiled file.`;
}

/**
 * The export of the file; a promise if the export is a function that returns one. A file that cannot be loaded is an error:
 * falling back to another store would put jobs where nobody runs them.
 *
 * @throws E_CONFIG_FILE, E_TYPESCRIPT_LOADER
 */
export function loadConfiguration(file: string): Configuration | Promise<Configuration> {
  const loaded = load(file);
  const exported = unwrapped(loaded);
  if (isModuleWithout('default', loaded) && !('connections' in loaded)) {
    throw configFileFailed(file, `it has no default export. ${HOW_TO_EXPORT}`);
  }
  // A file without exports: its configuration went nowhere.
  if (isRecord(loaded) && Object.keys(loaded).length === 0) {
    throw configFileFailed(file, `it exports nothing. ${HOW_TO_EXPORT}`);
  }
  if (typeof exported !== 'function') return configurationIn(file, exported, 'its default export is');
  const given = (value: unknown): Configuration => configurationIn(file, value, 'its function returned a value');
  const failed = (cause: unknown): never => {
    throw configFileFailed(file, problemOfLoading(cause), cause);
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
    `${subject} ${Array.isArray(value) ? 'an array' : `of type ${typeof value}`}, not a configuration. ${HOW_TO_EXPORT}`,
  );
}

/** Whether an ES module, or the output of a compiler for one, lacks an export. */
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
    throw configFileFailed(file, problemOfLoading(cause), cause);
  }
}

// A CommonJS file compiled from a default export has it in `exports.default`; required as an ES module, it is one level deeper.
function unwrapped(exported: unknown): unknown {
  let value = exported;
  for (let depth = 0; depth < 2; depth += 1) {
    if (typeof value !== 'object' || value === null || !('default' in value)) break;
    // `default` is also a key of a configuration: the name of a connection.
    if (typeof value.default === 'string') break;
    value = value.default;
  }
  return value;
}

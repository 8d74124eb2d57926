/** Checks a whole configuration at once: reports every mistake with its path, what was expected and what may be meant. */
import { isSuspiciouslyManySeconds } from '../../job/duration';
import { nearest, kindOf, oneLine } from '../../base/text';
import type { JobRegistry } from '../../job/registry';
import { driverNamed, type Keys } from '../../connections/driver';
import { CONFIGURATION_KEYS, problemsOf, STORE_KEYS } from './configuration';
import { isRecord } from '../../payload/values';
import { KEY_BYTES, KEY_NAME, keyIn } from '../../payload/vault';
import type { Mistake } from '../errors';
import { MEANT_IN_CONFIGURATION, MEANT_IN_CONNECTION } from '../../job/foreign-words';

export interface KnownParts {
  /** The drivers that have a connector. */
  readonly drivers: readonly string[];
  readonly registry: JobRegistry;
}

export interface Verdict {
  readonly mistakes: readonly Mistake[];
  /** Values that are allowed but look like mistakes: numbers that are probably milliseconds. */
  readonly warnings: readonly string[];
}

type Given = Readonly<Record<string, unknown>>;

type Mistakes = Iterable<Mistake>;

/** Never throws: the verdict contains what it finds. */
export function checkConfiguration(configuration: unknown, known: KnownParts): Verdict {
  return { mistakes: [...mistakesIn(configuration, known)], warnings: warningsOf(connectionsOf(configuration)) };
}

function* mistakesIn(configuration: unknown, { drivers, registry }: KnownParts): Mistakes {
  if (!isRecord(configuration)) {
    const kind = configuration === undefined ? 'undefined' : kindOf(configuration);
    yield { path: '', problem: `expected an object like { connections: { … } }, got ${kind}` };
    return;
  }
  yield* keyMistakes(configuration, '', CONFIGURATION_KEYS, MEANT_IN_CONFIGURATION);
  const connections = connectionsOf(configuration);
  if (isRecord(configuration['connections']) && Object.keys(connections).length === 0) {
    const problem = 'names no connection; to use REDIS_URL or the default, a SQLite file, leave it out';
    yield { path: 'connections', problem };
  }
  for (const [name, config] of Object.entries(connections)) yield* connectionMistakes(name, config, drivers);
  for (const [name, config] of Object.entries(connections)) yield* memberMistakes(name, config, connections);
  const { failed, jobs, operations } = configuration;
  yield* referenceMistakes('default', configuration['default'], connections);
  if (isRecord(failed)) yield* referenceMistakes('failed.connection', failed['connection'], connections);
  else yield* referenceMistakes('failed', failed, connections);
  yield* referenceMistakes('operations', operations, connections);
  yield* encryptionMistakes(configuration['encryption']);
  const names = Object.keys(connections);
  if (configuration['default'] === undefined && names.length > 1) {
    const problem = `missing; with several connections, name one of them: ${names.join(', ')}`;
    yield { path: 'default', problem };
  }
  for (const [index, job] of Array.isArray(jobs) ? jobs.entries() : []) {
    const problem = jobProblem(job, registry);
    if (problem !== undefined) yield { path: `jobs[${index}]`, problem };
  }
}

// Never shows a key.
function* encryptionMistakes(given: unknown): Mistakes {
  if (!isRecord(given)) return;
  const stray = Object.keys(given).find((key) => key !== 'use' && key !== 'keys');
  if (stray !== undefined) yield { path: `encryption.${stray}`, problem: 'not an option; give { use, keys }' };
  const { use, keys } = given;
  if (!isRecord(keys) || Object.keys(keys).length === 0) {
    yield { path: 'encryption.keys', problem: "expected keys by name, such as { '2026-11': process.env.KEY }" };
    return;
  }
  const names = Object.keys(keys);
  for (const [name, key] of Object.entries(keys)) {
    const problem = KEY_NAME.test(name) ? keyProblem(key) : 'a key is called by up to 64 letters, digits, - and _';
    if (problem !== undefined) yield { path: `encryption.keys['${oneLine(name, 64)}']`, problem };
  }
  if (typeof use === 'string' && names.includes(use)) return;
  const meant = typeof use === 'string' ? nearest(use, names) : [];
  const remedy = meant.length > 0 ? `did you mean ${listed(meant)}?` : `there are ${names.join(', ')}`;
  const said = typeof use === 'string' ? `'${oneLine(use, 64)}' is none of the keys` : 'expected the name of a key';
  yield { path: 'encryption.use', problem: `${said}; ${remedy}` };
}

function keyProblem(key: unknown): string | undefined {
  const remedy = 'openssl rand -base64 32 makes one';
  if (key === undefined) return `undefined. Is an environment variable not set? ${remedy}`;
  const bytes = typeof key === 'string' ? keyIn(key) : undefined;
  if (bytes === undefined) return `is no text in base64; ${remedy}`;
  return bytes.length === KEY_BYTES ? undefined : `has ${bytes.length} bytes; give ${KEY_BYTES}, in base64`;
}

function* connectionMistakes(name: string, config: unknown, drivers: readonly string[]): Mistakes {
  const path = `connections.${name}`;
  if (name === '' || /\s/.test(name)) yield { path, problem: 'a connection needs a name without white space' };
  if (!isRecord(config)) {
    yield { path, problem: `expected an object like { driver: 'redis' }, got ${kindOf(config)}` };
    return;
  }
  const { driver } = config;
  if (typeof driver !== 'string') {
    yield { path: `${path}.driver`, problem: `expected one of ${drivers.join(', ')}, got ${kindOf(driver)}` };
    return;
  }
  if (name === 'sync' && driver !== 'sync') {
    const problem = `the name 'sync' is reserved for the driver 'sync'; give this connection another name`;
    yield { path: `${path}.driver`, problem };
  }
  const ours = driverNamed(driver);
  if (ours === undefined) {
    yield* ownDriverMistakes(driver, `${path}.driver`, drivers);
    yield* valueMistakes(config, path, STORE_KEYS);
    return;
  }
  yield* keyMistakes(config, path, ours.keys, MEANT_IN_CONNECTION);
  yield* addressMistakes(config, path, ours.keys);
  for (const [key, problem] of ours.problems?.(config) ?? []) yield { path: join(path, key), problem };
}

/** Drivers may be added after this check, so only names that are close to a known one are mistakes. */
function* ownDriverMistakes(driver: string, path: string, drivers: readonly string[]): Mistakes {
  const offered = drivers.filter((known) => driverNamed(known)?.throwsAway !== true);
  const meant = drivers.includes(driver) ? [] : nearest(driver, offered);
  if (meant.length === 0) return;
  const remedy = '(A driver of your own: call Queue.addConnector first.)';
  yield { path, problem: `unknown driver '${driver}'; did you mean ${listed(meant)}? ${remedy}` };
}

// An explicit undefined is a mistake: the default address, a server on this machine, is only for configurations without the key.
function* addressMistakes(config: Given, path: string, keys: Keys): Mistakes {
  const ways = Object.keys(keys).filter((key) => keys[key]?.isAddress === true && Object.hasOwn(config, key));
  const given = ways.filter((key) => config[key] !== undefined);
  if (given.length > 1) yield { path, problem: `give only one of ${given.join(', ')}` };
  if (given.some((key) => config[key] !== null)) return;
  const problem = 'undefined. Is an environment variable not set? For the default address, leave the key out';
  for (const key of ways) if (config[key] === undefined) yield { path: `${path}.${key}`, problem };
}

function* memberMistakes(name: string, config: unknown, connections: Given): Mistakes {
  const key = driverNamed(driverOf(config))?.members;
  const members: unknown = key && (config as Given)[key];
  for (const [at, member] of Array.isArray(members) ? (members as readonly unknown[]).entries() : []) {
    if (typeof member !== 'string') continue;
    const path = `connections.${name}.${key}[${at}]`;
    const driver = member === 'sync' ? member : driverOf(connections[member]);
    const isTwice = (members as readonly unknown[]).indexOf(member) < at;
    const problem = driverNamed(driver)?.noMember ?? (isTwice ? 'is named twice' : undefined);
    if (problem === undefined) yield* referenceMistakes(path, member, connections);
    else yield { path, problem: `'${member}' ${problem}` };
  }
}

function* referenceMistakes(path: string, name: unknown, connections: Given): Mistakes {
  if (typeof name !== 'string' || Object.hasOwn(connections, name) || name === 'sync') return;
  const names = Object.keys(connections);
  const known = names.length === 0 ? 'add it to connections' : (guess(name, names) ?? `there is ${names.join(', ')}`);
  yield { path, problem: `there is no connection '${name}'; ${known}` };
}

function* keyMistakes(config: Given, path: string, keys: Keys, meantBy: ReadonlyMap<string, string>): Mistakes {
  yield* valueMistakes(config, path, keys);
  const known = Object.keys(keys);
  for (const key of Object.keys(config).filter((each) => !Object.hasOwn(keys, each))) {
    const meant = meantBy.get(key) ?? guess(key, known) ?? `known are ${known.join(', ')}`;
    yield { path: join(path, key), problem: `unknown key; ${meant}` };
  }
}

function* valueMistakes(config: Given, path: string, keys: Keys): Mistakes {
  for (const [key, problem] of problemsOf(config, keys)) yield { path: join(path, key), problem };
}

function warningsOf(connections: Given): readonly string[] {
  return Object.entries(connections).flatMap(([name, config]) => {
    const keys = Object.entries<Keys[string]>(driverNamed(driverOf(config))?.keys ?? STORE_KEYS);
    return keys.flatMap(([key, { isShort }]) => {
      const value = isRecord(config) && isShort === true ? config[key] : undefined;
      if (!isSuspiciouslyManySeconds(value)) return [];
      const path = `connections.${name}.${key}`;
      return `${path}: ${value} means ${value} seconds. If milliseconds were meant, write '${value}ms'; if not, '${value}s' says so.`;
    });
  });
}

function jobProblem(job: unknown, registry: JobRegistry): string | undefined {
  if (typeof job !== 'function') return `expected a class decorated with @Job(), got ${kindOf(job)}`;
  if (registry.knows(job)) return undefined;
  return `class ${job.name} has neither @Job() nor @Handles() nor @Middleware(); add one above it`;
}

/** Without those that are undefined: `local: isLocal ? { driver: 'memory' } : undefined`. */
export function connectionsOf(configuration: unknown): Given {
  const connections = isRecord(configuration) ? configuration['connections'] : undefined;
  return Object.fromEntries(
    Object.entries(isRecord(connections) ? connections : {}).filter(([, config]) => config !== undefined),
  );
}

function guess(word: string, known: readonly string[]): string | undefined {
  const meant = nearest(word, known);
  return meant.length === 0 ? undefined : `did you mean ${listed(meant)}?`;
}

function listed(names: readonly string[]): string {
  return names.map((name) => `'${name}'`).join(' or ');
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`;
}

function driverOf(config: unknown): unknown {
  return isRecord(config) ? config['driver'] : undefined;
}

/** A configuration that was found, checked, and filled in: the one that a program gave, or the one loaded on first use. */
import { bytesOfSize } from '../../dispatch/payload-limit';
import { types, isDeepStrictEqual } from 'node:util';
import { learnSecrets } from '../../base/redact';
import type { Logger } from '../../base/logger';
import { inRootContext, type ConnectionSettings } from '../../connections/application';
import { checkConfiguration, connectionsOf, type KnownParts } from './check-configuration';
import { findConfigFile, loadConfiguration, projectFolder, staleRemark } from './config-file';
import { STORE_KEYS, type Configuration } from './configuration';
import { driverNamed, type ConnectionConfig, type Size, type StoreConfig } from '../../connections/driver';
import { ConfigurationError, configFileFailed, configurationLoading, unknownConnection } from '../errors';
import { registry } from '../../job/registry';
import { join } from 'node:path';
import type { Seconds } from '../../base/clock';
import { durationSeconds } from '../../job/duration';
import { isPlain, isRecord } from '../../payload/values';
import { Vault } from '../../payload/vault';
import { classOf } from '../../base/class';

/** With the configured connections, or the implicit one. */
export interface LoadedConfiguration extends ImplicitStore {
  readonly configuration: Configuration;
  readonly vault: Vault;
  readonly settings: ReadonlyMap<string, ConnectionSettings>;
  readonly defaultConnection: string;
  /** The project's folder. */
  readonly root: string;
}

/**
 * @param name default: the default connection
 * @param remedy more to say if the connection does not exist
 * @throws E_UNKNOWN_CONNECTION
 */
export function settingsIn(
  { settings, source, configuration, defaultConnection }: LoadedConfiguration,
  name = defaultConnection,
  remedy?: string,
): ConnectionSettings {
  const known = settings.get(name);
  if (known !== undefined) return known;
  // `dispatchSync` works without a connection of that name.
  if (name === 'sync') return settingsOf(name, { driver: 'sync' }, configuration.maxPayload);
  throw unknownConnection(name, [...settings.keys()], source, remedy);
}

export interface ConfigurationSources extends KnownParts {
  /** The project is searched from here upward. */
  readonly folder: string;
  /** Loaded instead of the project's file. */
  readonly configFile?: string | undefined;
  readonly variables: Readonly<NodeJS.ProcessEnv>;
  /** Used if the configuration has no logger. */
  readonly logger: Logger;
}

const ONLY_COMMANDS_WAIT =
  'it is a promise, which only commands await. Call Queue.configure(await configuration()) first.';

/** The current configuration, once there is one. */
export class PresentConfiguration {
  readonly #sources: () => ConfigurationSources;
  readonly #check: (loaded: LoadedConfiguration) => void;
  /** Undefined if nobody has asked for it yet. */
  loaded: LoadedConfiguration | undefined;
  #loading = false;

  /**
   * @param sources throws if nothing may be loaded any more
   * @param check throws if something else in the program does not fit the configuration
   */
  constructor(sources: () => ConfigurationSources, check: (loaded: LoadedConfiguration) => void) {
    this.#sources = sources;
    this.#check = check;
  }

  /**
   * Loads the configuration on first use. @throws ConfigurationError, E_CONFIG_FILE, E_TYPESCRIPT_LOADER, E_CONFIGURATION_LOADING
   */
  get(): LoadedConfiguration {
    if (this.loaded !== undefined) return this.loaded;
    return this.#load((found) => {
      if (!types.isPromise(found.configuration)) return this.#use(found);
      found.configuration.catch(() => undefined);
      throw configFileFailed(found.source, ONLY_COMMANDS_WAIT);
    });
  }

  /** Loads the configuration, and waits for it if an async function returns it. */
  async ready(): Promise<void> {
    if (this.loaded !== undefined) return;
    const found = this.#load((one) => one);
    this.#loading = true;
    try {
      this.#use({ ...found, configuration: await found.configuration });
    } finally {
      this.#loading = false;
    }
  }

  /** Replaces the configuration. @throws ConfigurationError */
  replace(configuration: unknown): void {
    this.#use({ configuration, source: 'given to Queue.configure' });
  }

  #load<Result>(use: (found: FoundConfiguration) => Result): Result {
    const sources = this.#sources();
    // A half-loaded file would look like an empty configuration, and jobs would go to another store.
    if (this.#loading) throw configurationLoading();
    this.#loading = true;
    try {
      return use(inRootContext(() => findConfiguration(sources)));
    } finally {
      this.#loading = false;
    }
  }

  #use(found: FoundConfiguration): LoadedConfiguration {
    const loaded = loadedConfiguration(this.#sources(), found);
    this.#check(loaded);
    return (this.loaded = loaded);
  }
}

/** A configuration that was not examined yet. */
interface FoundConfiguration {
  /** A promise if an async function of the project's file returns it. */
  readonly configuration: unknown;
  readonly source: string;
  /** A warning to log. */
  readonly remark?: string | undefined;
}

/** @throws E_CONFIG_FILE, E_TYPESCRIPT_LOADER */
function findConfiguration({ folder, configFile }: ConfigurationSources): FoundConfiguration {
  const file = configFile ?? findConfigFile(projectFolder(folder));
  return file === undefined
    ? { configuration: {}, source: 'none' }
    : {
        configuration: registry().keepingFirst(() => loadConfiguration(file)),
        source: file,
        remark: staleRemark(file),
      };
}

/** @throws ConfigurationError */
function loadedConfiguration(sources: ConfigurationSources, found: FoundConfiguration): LoadedConfiguration {
  const { source, remark } = found;
  const root = projectFolder(sources.folder);
  // Before anything about the configuration is logged.
  learnSecrets(found.configuration);
  const { keys } = (found.configuration as Partial<Configuration> | undefined)?.encryption ?? {};
  learnSecrets({ secret: isRecord(keys) ? Object.values(keys) : [] });
  const warnings = checked(found.configuration, source, sources);
  const configuration = found.configuration as Configuration;
  const { logger = sources.logger } = configuration;
  const connections = connectionsOf(configuration) as ImplicitStore['connections'];
  const isNamed = Object.keys(connections).length > 0;
  const store: ImplicitStore = isNamed ? { connections, source } : implicitStore(root, sources.variables);
  learnSecrets(store.connections);
  if (!isNamed) checked({ connections: store.connections }, store.source, sources);
  for (const warning of [...warnings, ...(remark === undefined ? [] : [remark])]) logger.warn({}, warning);
  return {
    ...store,
    configuration,
    vault: new Vault(configuration.encryption),
    settings: allSettings(store.connections, configuration.maxPayload),
    // The check made sure that one is named if there are several.
    defaultConnection: configuration.default ?? Object.keys(store.connections)[0] ?? '',
    root,
  };
}

/** Returns the warnings. @throws ConfigurationError */
function checked(configuration: unknown, source: string, known: KnownParts): readonly string[] {
  const { mistakes, warnings } = checkConfiguration(configuration, known);
  if (mistakes.length > 0) throw new ConfigurationError(mistakes, source);
  return warnings;
}

/** The store of a program that configured none: Redis if the environment names one, otherwise a SQLite file. */
export interface ImplicitStore {
  readonly connections: Readonly<Record<string, ConnectionConfig>>;
  /** For people: where it came from. */
  readonly source: string;
  /** A clause that says where an address came from that no file contains. */
  readonly origin?: string | undefined;
  /** The log line that names, once, a store that nobody chose. */
  readonly notice?: string | undefined;
}

/** @param root the project's folder, not the working folder: worker and program may be started in different ones */
export function implicitStore(root: string, variables: Readonly<NodeJS.ProcessEnv>): ImplicitStore {
  const url = variables['REDIS_URL'];
  if (url !== undefined && url !== '') {
    return {
      connections: { redis: { driver: 'redis', url } },
      source: 'REDIS_URL',
      origin: 'REDIS_URL came from the environment',
    };
  }
  const path = join(root, 'onqueue.sqlite');
  return {
    connections: { database: { driver: 'database', url: `sqlite:${path}` } },
    source: 'the default, a SQLite file',
    notice: `No connection is configured and REDIS_URL is not set: jobs are stored in ${path}.`,
  };
}

const LOCAL: Readonly<Record<string, string>> = {
  memory: 'keeps jobs in the memory of this process: they are lost when it ends, and no other process can run them',
  sync: 'runs jobs within their dispatch: whoever dispatches waits for them, and nothing tries them again',
  database: 'keeps jobs in a SQLite file: no other machine has them, and a container loses them with its disk',
};

/** What production hardly wants of the connection that is used if none is named: often REDIS_URL is missing there. */
export function localRemark(
  name: string,
  config: ConnectionConfig | undefined,
  { NODE_ENV }: Readonly<NodeJS.ProcessEnv>,
): string | undefined {
  if (NODE_ENV !== 'production' || config === undefined || !Object.hasOwn(LOCAL, config.driver)) return undefined;
  const { url = 'sqlite:' } = config as { readonly url?: unknown };
  if (config.driver === 'database' && !(typeof url === 'string' && url.startsWith('sqlite:'))) return undefined;
  return `NODE_ENV is production, and the connection '${name}' ${LOCAL[config.driver]}. If a server is meant, check what sets its url.`;
}

const named = new Set<string>();

/** Logs the notice once for each process; in production as a warning. */
export function nameStore(notice: string, logger: Logger, { NODE_ENV }: Readonly<NodeJS.ProcessEnv>): void {
  const level = NODE_ENV === 'production' ? 'warn' : 'info';
  if (named.has(level + notice)) return;
  named.add(level + notice);
  logger[level]({}, notice);
}

/** @param maxPayload the application's setting for connections that do not set it */
export function settingsOf(name: string, config: ConnectionConfig, maxPayload?: Size): ConnectionSettings {
  const given: { readonly driver: string } & StoreConfig = config;
  const seconds = (key: 'retryAfter' | 'deadline'): Seconds =>
    durationSeconds(given[key] ?? STORE_KEYS[key].default, `connections.${name}.${key}`);
  return {
    name,
    driver: given.driver,
    queue: given.queue ?? STORE_KEYS.queue.default,
    retryAfter: seconds('retryAfter'),
    deadline: seconds('deadline'),
    maxPayload: bytesOfSize(given.maxPayload ?? maxPayload) ?? STORE_KEYS.maxPayload.default,
    ...(given.afterCommit === true && { afterCommit: true }),
  };
}

/** The settings of all connections, by name. */
export function allSettings(
  connections: Readonly<Record<string, ConnectionConfig>>,
  maxPayload?: Size,
): ReadonlyMap<string, ConnectionSettings> {
  const entries = Object.entries(connections);
  const settings = new Map(entries.map(([name, config]) => [name, settingsOf(name, config, maxPayload)]));
  for (const [name, config] of entries) {
    const key = driverNamed(config.driver)?.members;
    if (key === undefined) continue;
    const members = (config as object as Readonly<Record<string, readonly string[]>>)[key] ?? [];
    // Whether a job is accepted must not depend on which member is unreachable.
    const taken = [name, ...members].map((each) => settings.get(each)?.maxPayload ?? Infinity);
    settings.set(name, { ...settings.get(name)!, maxPayload: Math.min(...taken) });
  }
  return settings;
}

/** No setting is nested deeper; a logger that is a plain object may be cyclic. */
const DEEPEST = 6;

/** Whether two configurations are equal, like those of a module that is evaluated twice. */
export function saysTheSame(one: unknown, other: unknown): boolean {
  return isDeepStrictEqual(likeness(one, 0), likeness(other, 0));
}

// Each evaluation creates its own classes, functions and clients, so we compare those by name.
function likeness(value: unknown, depth: number): unknown {
  if (typeof value === 'function') return `function ${value.name}`;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => likeness(item, depth + 1));
  if (types.isUint8Array(value) || value instanceof URL || types.isDate(value)) return value;
  if (!isPlain(value)) return `instance of ${classOf(value)?.name ?? ''}`;
  if (depth === DEEPEST) return undefined;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, likeness(item, depth + 1)]));
}

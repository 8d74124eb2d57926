/** A configuration that was found, checked, and filled in: the one that a program gave, or the one loaded on first use. */
import { types } from 'node:util';
import { learnSecrets } from '../../base/secrets';
import type { Logger } from '../../base/logger';
import { inRootContext } from '../../connections/application';
import { checkConfiguration, type KnownParts } from './check-configuration';
import { findConfigFile, loadConfiguration, projectFolder, staleRemark } from './config-file';
import type { Configuration } from './configuration';
import { allSettings, settingsOf } from './connection-settings';
import type { ConnectionSettings } from '../../connections/driver';
import { ConfigurationError, configFileFailed, configurationLoading, unknownConnection } from '../errors';
import { registry } from '../../job/registry';
import { implicitStore, type ImplicitStore } from './implicit-store';

/** With the configured connections, or the implicit one. */
export interface LoadedConfiguration extends ImplicitStore {
  readonly configuration: Configuration;
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
  #loaded: LoadedConfiguration | undefined;
  #loading = false;

  /**
   * @param sources throws if nothing may be loaded any more
   * @param check throws if something else in the program does not fit the configuration
   */
  constructor(sources: () => ConfigurationSources, check: (loaded: LoadedConfiguration) => void) {
    this.#sources = sources;
    this.#check = check;
  }

  /** Undefined if nobody has asked for it yet. */
  get loaded(): LoadedConfiguration | undefined {
    return this.#loaded;
  }

  /**
   * Loads the configuration on first use. @throws ConfigurationError, E_CONFIG_FILE, E_TYPESCRIPT_LOADER, E_CONFIGURATION_LOADING
   */
  get(): LoadedConfiguration {
    if (this.#loaded !== undefined) return this.#loaded;
    return this.#load((found) => {
      if (!types.isPromise(found.configuration)) return this.#use(found);
      found.configuration.catch(() => undefined);
      throw configFileFailed(found.source, ONLY_COMMANDS_WAIT);
    });
  }

  /** Loads the configuration, and waits for it if an async function returns it. */
  async ready(): Promise<void> {
    if (this.#loaded !== undefined) return;
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
    return (this.#loaded = loaded);
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
  const warnings = checked(found.configuration, source, sources);
  const configuration = found.configuration as Configuration;
  const { connections = {}, logger = sources.logger } = configuration;
  const isNamed = Object.keys(connections).length > 0;
  const store: ImplicitStore = isNamed ? { connections, source } : implicitStore(root, sources.variables);
  learnSecrets(store.connections);
  if (!isNamed) checked({ connections: store.connections }, store.source, sources);
  for (const warning of [...warnings, ...(remark === undefined ? [] : [remark])]) logger.warn({}, warning);
  return {
    ...store,
    configuration,
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

/** A configuration that was found, checked, and filled in. */
import type { JobRegistry } from '../job/registry';
import type { Logger } from '../logger/logger';
import { checkConfiguration } from './check-configuration';
import { findConfigFile, loadConfiguration, projectFolder } from './config-file';
import type { Configuration, ConnectionConfig } from './configuration';
import { settingsOf } from './connection-settings';
import type { ConnectionSettings } from './connector';
import { ConfigurationError } from './errors';
import { type ImplicitStore, implicitStore } from './implicit-store';

export interface LoadedConfiguration {
  readonly configuration: Configuration;
  /** Those of the configuration, or the implicit one. */
  readonly connections: Readonly<Record<string, ConnectionConfig>>;
  readonly settings: ReadonlyMap<string, ConnectionSettings>;
  readonly defaultConnection: string;
  /** For people: where it came from. */
  readonly source: string;
  /** Where an address came from that is written down nowhere, as a clause. */
  readonly origin: string | undefined;
  /** What to say of a store that nobody chose. */
  readonly notice: string | undefined;
  /** The project's folder. */
  readonly root: string;
}

export interface ConfigurationSources {
  /** Without one, the project's file is loaded, where there is one. */
  readonly given: Configuration | undefined;
  /** Where the project is looked for, upward. */
  readonly folder: string;
  /** Loaded in place of the project's file. */
  readonly configFile?: string | undefined;
  readonly variables: Readonly<NodeJS.ProcessEnv>;
  /** Where the configuration gives none. */
  readonly logger: Logger;
  readonly drivers: readonly string[];
  readonly registry: JobRegistry;
}

/** @throws ConfigurationError, ConfigFileError, TypeScriptLoaderError */
export function loadedConfiguration(sources: ConfigurationSources): LoadedConfiguration {
  const { given, drivers, registry, variables } = sources;
  const root = projectFolder(sources.folder);
  const file = given === undefined ? (sources.configFile ?? findConfigFile(root)) : undefined;
  const configuration = given ?? (file === undefined ? {} : loadConfiguration(file));
  const source = given === undefined ? file : 'given to Queue.configure';
  const { mistakes, warnings } = checkConfiguration(configuration, { drivers, registry });
  if (mistakes.length > 0) throw new ConfigurationError(mistakes, source ?? 'empty');
  const { connections = {}, logger = sources.logger } = configuration;
  const store: ImplicitStore =
    Object.keys(connections).length > 0 ? { connections, source: source ?? '' } : implicitStore(root, variables);
  for (const warning of warnings) logger.warn({}, warning);
  const entries = Object.entries(store.connections);
  return {
    configuration,
    connections: store.connections,
    settings: new Map(entries.map(([name, config]) => [name, settingsOf(name, config)])),
    // The check saw to it that one is named where there are several.
    defaultConnection: configuration.default ?? entries[0]?.[0] ?? '',
    source: store.source,
    origin: store.origin,
    notice: store.notice,
    root,
  };
}

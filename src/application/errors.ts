/** What can go wrong with a configuration, and with the manager of its connections. */
import { defineError, errorClass } from '../base/define-error';
import { nearest } from '../base/nearest';

/** One mistake in a configuration. */
export interface Mistake {
  /** Where it stands: `connections.redis.retryAfter`. */
  readonly path: string;
  /** What is wrong, what was expected, and what may have been meant. */
  readonly problem: string;
}

/** The configuration has mistakes; all of them are named. */
export class ConfigurationError extends errorClass(
  'E_CONFIGURATION',
  (mistakes: readonly Mistake[], source: string) => {
    const lines = mistakes.map(({ path, problem }) => `\n  ${path === '' ? '' : `${path}: `}${problem}`);
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`;
    return {
      message: `The configuration (${source}) has ${count}:${lines.join('')}`,
      facts: { mistakes, source },
    };
  },
) {}

/** A configuration file is there but cannot be loaded. No other store is taken in its place. */
export const configFileFailed = defineError('E_CONFIG_FILE', (file: string, problem: string, cause?: unknown) => ({
  message: `${file} could not be loaded: ${problem}`,
  facts: { file },
  cause,
}));

/** The configuration was asked for by the very file that gives it, or by one that it imports. */
export const configurationLoading = defineError('E_CONFIGURATION_LOADING', () => ({
  message:
    'Queue was used while onqueue.config was being loaded, by that file or one that it imports. ' +
    'There, only declare jobs and export the configuration; use Queue inside of functions that are called later.',
}));

/** A TypeScript file was to be loaded, and nothing here compiles it. */
export const noTypeScriptLoader = defineError('E_TYPESCRIPT_LOADER', (file: string, cause: unknown) => ({
  message:
    `${file} is TypeScript, and @swc/core, which compiles it, is not installed. In development, run: npm install --save-dev ` +
    '@swc/core. For production compile it with the rest, and name what was made of it: onqueue work --config ' +
    'dist/onqueue.config.js; a program gives what it exports to Queue.configure(). One that was compiled beside it is taken first.',
  facts: { file },
  cause,
}));

/** `Queue.configure` came after the connections of an earlier configuration had been opened. */
export const alreadyConfigured = defineError('E_ALREADY_CONFIGURED', (opened: readonly string[], source: string) => ({
  message:
    `Queue.configure() came too late: ${opened.map((name) => `'${name}'`).join(', ')} ${opened.length === 1 ? 'is' : 'are'} ` +
    `in use already, from ${source}. Call it before the first dispatch or worker, or await Queue.close() first.`,
  facts: { opened, source },
}));

/** `remedy`: what else to do, as a sentence. */
export const unknownConnection = defineError(
  'E_UNKNOWN_CONNECTION',
  (given: unknown, known: readonly string[], source: string, remedy?: string) => {
    // In JavaScript, anything may be given.
    const name = String(given);
    const problem = `No connection '${name}' in the configuration (${source}); it has ${known.join(', ')}.`;
    const [nearestName] = nearest(name, known);
    const meant = nearestName && `Did you mean '${nearestName}'?`;
    return {
      message: [problem, meant, remedy].filter((part) => part !== undefined).join(' '),
      facts: { name, known },
    };
  },
);

export const unknownDriver = defineError(
  'E_UNKNOWN_DRIVER',
  (driver: string, connection: string, known: readonly string[]) => ({
    message:
      `Connection '${connection}' has the driver '${driver}', which is none of ${known.join(', ')}. ` +
      `A driver of your own is made known by Queue.addConnector('${driver}', …) before its first use.`,
    facts: { driver, connection, known },
  }),
);

export const managerClosed = defineError('E_MANAGER_CLOSED', () => ({
  message:
    'This QueueManager was closed; make a new one. (The one behind Queue starts afresh by itself, once Queue.close() has ' +
    'resolved.)',
}));

/** A connector gave its connection another name than the configuration does. */
export const misnamedConnection = defineError(
  'E_MISNAMED_CONNECTION',
  (name: string, given: string, driver: string) => ({
    message:
      `The connector of the driver '${driver}' made a connection named '${given}', but the configuration calls it '${name}'. ` +
      `Use the name it is given: Queue.addConnector('${driver}', (config, { name }) => …).`,
    facts: { name, given },
  }),
);

/** Errors of a configuration, and of the manager of its connections. */
import { defineError, errorClass } from '../base/onqueue-error';
import { nearest } from '../base/text';

/** One mistake in a configuration. */
export interface Mistake {
  /** Where it is: `connections.redis.retryAfter`. */
  readonly path: string;
  /** What is wrong, what was expected, and perhaps what was meant. */
  readonly problem: string;
}

/** The configuration has mistakes; names them all. */
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

/** The configuration file exists but cannot be loaded. We never fall back to another store. */
export const configFileFailed = defineError('E_CONFIG_FILE', (file: string, problem: string, cause?: unknown) => ({
  message: `${file} could not be loaded: ${problem}`,
  facts: { file },
  cause,
}));

/** The configuration file, or a file that it imports, asked for the configuration. */
export const configurationLoading = defineError('E_CONFIGURATION_LOADING', () => ({
  message:
    'Queue was used while onqueue.config was being loaded, by that file or one that it imports. ' +
    'Those files may only declare jobs and export the configuration; use Queue in functions that are called later.',
}));

/** A TypeScript file cannot be loaded, because there is no compiler. */
export const noTypeScriptLoader = defineError('E_TYPESCRIPT_LOADER', (file: string, cause: unknown) => ({
  message:
    `${file} is TypeScript, and @swc/core, which compiles it, is not installed. In development, run: npm install --save-dev ` +
    '@swc/core. For production, compile it with your other files, and name the result: onqueue work --config ' +
    'dist/onqueue.config.js; a program passes its export to Queue.configure(). A compiled file beside the source is preferred.',
  facts: { file },
  cause,
}));

/** `Queue.configure` was called after connections of an earlier configuration had been opened. */
export const alreadyConfigured = defineError('E_ALREADY_CONFIGURED', (opened: readonly string[], source: string) => ({
  message:
    `Queue.configure() came too late: ${opened.map((name) => `'${name}'`).join(', ')} ${opened.length === 1 ? 'is' : 'are'} ` +
    `already in use, from ${source}. Call it before the first dispatch or worker, or await Queue.close() first.`,
  facts: { opened, source },
}));

/** `remedy`: another remedy, as a sentence. */
export const unknownConnection = defineError(
  'E_UNKNOWN_CONNECTION',
  (given: unknown, known: readonly string[], source: string, remedy?: string) => {
    // JavaScript may pass anything.
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

/** What users of other libraries call the driver of a database. */
const DATABASE = /^(pg|postgres|pgsql|mysql|maria|sqlite|better-sqlite)/i;

export const unknownDriver = defineError(
  'E_UNKNOWN_DRIVER',
  (driver: string, connection: string, known: readonly string[]) => {
    const problem = `Connection '${connection}' has the driver '${driver}', which is none of ${known.join(', ')}.`;
    const remedy = DATABASE.test(driver)
      ? `Every database has the driver 'database'; its url says which: 'postgres://…', 'mysql://…' or 'sqlite:…'.`
      : `Register a driver of your own with Queue.addConnector('${driver}', …) before its first use.`;
    return { message: `${problem} ${remedy}`, facts: { driver, connection, known } };
  },
);

/** As in BullMQ. @param call as it was written */
export const noQueueObject = defineError('E_NO_QUEUE_OBJECT', (call: string) => ({
  message:
    `${call}: there is no object for each queue. A job is a class, whose option names its queue: ` +
    "@Job({ queue: 'mail' }) class SendWelcome extends Job { … }, sent by SendWelcome.dispatch('ada@example.org'). " +
    "Queue.push('Name', data, 'mail') sends a name with data, and Queue.connection() has what concerns queues: Queue.size('mail').",
  facts: { call },
}));

/** Why a file of the project could not be loaded. */
export function problemOfLoading(cause: unknown): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  if (code === 'ERR_REQUIRE_ASYNC_MODULE') {
    return 'it, or a module that it imports, uses await at its top level, but a required module cannot be waited for. Move the await into a function.';
  }
  return cause instanceof Error ? cause.message : String(cause);
}

export const managerClosed = defineError('E_MANAGER_CLOSED', () => ({
  message:
    'This QueueManager was closed; make a new one. (Queue makes a new one by itself, once Queue.close() has ' +
    'resolved.)',
}));

/** A driver of the user's has members or flags of an older version. */
export const olderDriver = defineError('E_OLDER_DRIVER', (name: string, driver: string, member: string) => ({
  message:
    `The connection '${name}' of the driver '${driver}' was made for an older version of Onqueue: it has '${member}', which has a different ` +
    'place or form now. docs/own-driver.md shows the change, under "From an older driver".',
  facts: { name, driver, member },
}));

/** A connector gave its connection a name other than the configured one. */
export const misnamedConnection = defineError(
  'E_MISNAMED_CONNECTION',
  (name: string, given: string, driver: string) => ({
    message:
      `The connector of the driver '${driver}' made a connection named '${given}', but the configuration calls it '${name}'. ` +
      `Use the name it is given: Queue.addConnector('${driver}', (config, { name }) => …).`,
    facts: { name, given },
  }),
);

/** What can go wrong before a job reaches its store: configuration, names, and asking for what is not there. */
import type { Seconds } from '../base/clock';
import { errorClass } from '../base/define-error';
import { OnqueueError } from '../base/onqueue-error';
import { sentence } from '../base/plain-text';
import { valueText } from '../base/value-text';
import type { Capabilities } from '../connections/contract';

/** One mistake in a configuration. */
export interface Mistake {
  /** Where it stands: `connections.redis.retryAfter`. */
  readonly path: string;
  /** What is wrong, what was expected, and what may have been meant. */
  readonly problem: string;
}

/** The configuration has mistakes; all of them are named. */
export class ConfigurationError extends OnqueueError<{
  readonly mistakes: readonly Mistake[];
  readonly source: string;
}> {
  readonly code = 'E_CONFIGURATION';

  constructor(mistakes: readonly Mistake[], source: string) {
    const lines = mistakes.map(({ path, problem }) => `\n  ${path === '' ? '' : `${path}: `}${problem}`);
    const count = mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`;
    super(`The configuration (${source}) has ${count}:${lines.join('')}`, { mistakes, source });
  }
}

/** A configuration file is there but cannot be loaded. No other store is taken in its place. */
export class ConfigFileError extends OnqueueError<{ readonly file: string }> {
  readonly code = 'E_CONFIG_FILE';

  constructor(file: string, problem: string, options?: { cause?: unknown }) {
    super(`${file} could not be loaded: ${problem}`, { file }, options);
  }
}

/** The configuration was asked for by the very file that gives it, or by one that it imports. */
export class ConfigurationLoadingError extends OnqueueError {
  readonly code = 'E_CONFIGURATION_LOADING';

  constructor() {
    super(
      'Queue was used while onqueue.config was being loaded, by that file or one that it imports. ' +
        'There, only declare jobs and export the configuration; use Queue inside of functions that are called later.',
      {},
    );
  }
}

/** A TypeScript file was to be loaded, and nothing here compiles it. */
export class TypeScriptLoaderError extends OnqueueError<{ readonly file: string }> {
  readonly code = 'E_TYPESCRIPT_LOADER';

  constructor(file: string, options?: { cause?: unknown }) {
    super(
      `${file} is TypeScript, and @swc/core, which compiles it, is not installed. In development, run: npm install --save-dev ` +
        '@swc/core. For production compile it with the rest, and name what was made of it: onqueue work --config ' +
        'dist/onqueue.config.js; a program gives what it exports to Queue.configure(). One that was compiled beside it is taken first.',
      { file },
      options,
    );
  }
}

/** `Queue.configure` came after the connections of an earlier configuration had been opened. */
export class AlreadyConfiguredError extends OnqueueError<{
  readonly opened: readonly string[];
  readonly source: string;
}> {
  readonly code = 'E_ALREADY_CONFIGURED';

  constructor(opened: readonly string[], source: string) {
    super(
      `Queue.configure() came too late: ${opened.map((name) => `'${name}'`).join(', ')} ${opened.length === 1 ? 'is' : 'are'} ` +
        `in use already, from ${source}. Call it before the first dispatch or worker, or await Queue.close() first.`,
      { opened, source },
    );
  }
}

/** A connection that the configuration does not name. */
export class UnknownConnectionError extends OnqueueError<{ readonly name: string; readonly known: readonly string[] }> {
  readonly code = 'E_UNKNOWN_CONNECTION';

  constructor(name: string, known: readonly string[], source: string, suggestion: string | undefined, remedy?: string) {
    const meant = suggestion === undefined ? [] : [`Did you mean '${suggestion}'?`];
    const problem = `No connection '${name}' in the configuration (${source}); it has ${known.join(', ')}.`;
    super([problem, ...meant, ...(remedy === undefined ? [] : [remedy])].join(' '), { name, known });
  }
}

/** A driver that nobody made known. */
export class UnknownDriverError extends OnqueueError<{
  readonly driver: string;
  readonly connection: string;
  readonly known: readonly string[];
}> {
  readonly code = 'E_UNKNOWN_DRIVER';

  constructor(driver: string, connection: string, known: readonly string[]) {
    super(
      `Connection '${connection}' has the driver '${driver}', which is none of ${known.join(', ')}. ` +
        `A driver of your own is made known by Queue.addConnector('${driver}', …) before its first use.`,
      { driver, connection, known },
    );
  }
}

/** The manager was used after `close()`. */
export class ManagerClosedError extends OnqueueError {
  readonly code = 'E_MANAGER_CLOSED';

  constructor() {
    super(
      'This QueueManager was closed; make a new one. (The one behind Queue starts afresh by itself, once Queue.close() has ' +
        'resolved.)',
      {},
    );
  }
}

/** What a driver can do; `transactions`, where it has a `within`. */
export type Capability = keyof Capabilities | 'transactions';

const CAPABILITY_MEANING: Readonly<Record<Capability, string>> = {
  delay: 'hold jobs back until a moment',
  moments: 'judge moments by the clock of its store',
  reserve: 'hand jobs to a worker',
  renew: 'renew leases',
  counts: 'count jobs by state',
  exactCounts: 'count jobs exactly',
  order: 'hand jobs out in the order in which they were pushed',
  requeue: 'give a job that comes back its place at the tail',
  clear: 'clear a queue',
  peek: 'show waiting jobs',
  wake: 'wake a waiting worker',
  failed: 'keep failed jobs',
  locks: 'hold locks',
  control: 'cancel jobs, pause queues or restart workers',
  transactions: 'push within a transaction of yours',
};

/** The drivers of ours that keep jobs, and those among them that can do all that a store can. */
const STORES = ['redis', 'database', 'beanstalkd', 'sqs', 'memory'] as const;
const WHOLE_STORES = ['redis', 'database', 'memory'] as const;

/** Where not all of `STORES` have it. */
const CAPABLE_DRIVERS: Readonly<Partial<Record<Capability, readonly string[]>>> = {
  exactCounts: ['redis', 'database', 'beanstalkd', 'memory'],
  order: ['redis', 'database', 'beanstalkd', 'memory'],
  requeue: WHOLE_STORES,
  peek: WHOLE_STORES,
  failed: WHOLE_STORES,
  locks: WHOLE_STORES,
  control: WHOLE_STORES,
  transactions: ['database'],
};

/** A connection was asked for what its driver cannot do. */
export class CapabilityError extends OnqueueError<{
  connection: string;
  driver: string;
  capability: Capability;
  drivers: readonly string[];
}> {
  readonly code = 'E_CAPABILITY';

  constructor(connection: string, driver: string, capability: Capability) {
    const drivers = (CAPABLE_DRIVERS[capability] ?? STORES).filter((capable) => capable !== driver);
    super(
      `Connection '${connection}' cannot ${CAPABILITY_MEANING[capability]}: the driver '${driver}' lacks the capability ` +
        `'${capability}'. Drivers that have it: ${drivers.join(', ')}.`,
      { connection, driver, capability, drivers },
    );
  }
}

/** `using()` was given what is no transaction that the driver knows. */
export class UnknownTransactionError extends OnqueueError<{ readonly connection: string; readonly given: string }> {
  readonly code = 'E_UNKNOWN_TRANSACTION';

  constructor(connection: string, transaction: unknown) {
    // Never its fields: a client may hold a password.
    const given =
      typeof transaction === 'object' && transaction !== null
        ? `an instance of ${transaction.constructor?.name ?? 'no class'}`
        : valueText(transaction);
    super(
      `Queue.connection('${connection}').using() was given ${given}, which is no transaction that is known. Give the client that ` +
        'has begun it (not the pool), what Prisma, Drizzle, TypeORM, MikroORM, kysely, knex or postgres.js hands to the function of ' +
        'a transaction, or an object with query(text, values) that runs a statement in it.',
      { connection, given },
    );
  }
}

/** What was to be cancelled is no id. */
export class InvalidJobIdError extends OnqueueError<{ readonly id: unknown }> {
  readonly code = 'E_INVALID_JOB_ID';

  constructor(id: unknown) {
    super(`${valueText(id)} is no id of a job. Give the text that dispatch() or push() resolved to: await it.`, { id });
  }
}

/** What was given as the reason of a cancellation is none. */
export class InvalidCancelReasonError extends OnqueueError<{ readonly reason: unknown; readonly longest: number }> {
  readonly code = 'E_INVALID_CANCEL_REASON';

  constructor(reason: unknown, longest: number) {
    super(
      `${valueText(reason)} is no reason for a cancellation. Give one line of 1 to ${longest} characters, or leave it out.`,
      { reason, longest },
    );
  }
}

export interface Unavailability {
  /** The connection's name in the configuration. */
  readonly connection: string;
  /** What it is, for people: `Redis`, `SQLite`, … */
  readonly store: string;
  /** `Connection.address`: without a password. */
  readonly address: string;
  /** What was not done for it, as a clause: `SendEmail was not queued`. */
  readonly consequence: string;
  /** How long was waited; absent: it refused at once. */
  readonly deadline?: Seconds | undefined;
  /** It answered, and would not serve; absent: it was silent. */
  readonly refused?: boolean | undefined;
  /** What the store or the system said, in its own words: `WRONGPASS invalid username-password pair`. */
  readonly reason?: string | undefined;
  /** The call was sent and its answer never came: what was not done may have been done all the same. */
  readonly uncertain?: boolean | undefined;
  /** Where the address came from, as a clause, if not from the configuration: `REDIS_URL came from the environment`. */
  readonly origin?: string | undefined;
  /** What to look at, as a sentence; absent: `Is it running?`. */
  readonly remedy?: string | undefined;
}

/** An error of a driver that says what was not done. The driver does not know the job's name; whoever sent it does. */
export interface Consequential {
  /** The same error, with another clause: `SendEmail was not queued`. */
  withConsequence(consequence: string): Error;
}

/** The store did not answer in time, or not at all, or would not serve. */
export class QueueUnavailableError extends errorClass(
  'E_QUEUE_UNAVAILABLE',
  (facts: Unavailability, options?: { cause?: unknown }) => {
    const silence = facts.deadline === undefined ? 'cannot be reached' : `did not answer in ${facts.deadline} s`;
    const state = facts.refused === true ? 'refused' : silence;
    const reason = facts.reason === undefined ? '' : ` (${facts.reason})`;
    const doubt = facts.uncertain === true ? ', unless only its answer was lost' : '';
    const origin = facts.origin === undefined ? '' : ` ${facts.origin}.`;
    const remedy = facts.remedy ?? 'Is it running?';
    return {
      message: `${facts.store} at ${facts.address} ${state}${reason}; ${facts.consequence}${doubt}. ${remedy}${origin}`,
      facts,
      cause: options?.cause,
    };
  },
) {}

/** The store serves nobody, or not us; otherwise it refused what it was sent. */
export function isStoreAway(error: unknown): boolean {
  return error instanceof QueueUnavailableError;
}

/** A job that carries more than its connection takes: refused when it is dispatched, or sent back from the failed jobs. */
export class PayloadTooLargeError extends OnqueueError<{
  readonly job: string;
  readonly connection: string;
  readonly size: number;
  readonly limit: number;
}> {
  readonly code = 'E_PAYLOAD_TOO_LARGE';

  /** @param size in bytes, as `limit` is */
  constructor(job: string, connection: string, size: number, limit: number) {
    super(
      `${job} was not queued: its text has ${sizeText(size)}, and connection '${connection}' takes up to ${sizeText(limit)}. ` +
        'Pass an id and load the data in handle(), or raise maxPayload in the configuration.',
      { job, connection, size, limit },
    );
  }
}

function sizeText(bytes: number): string {
  const [unit, divisor] = bytes < 1024 * 1024 ? ['kB', 1024] : ['MB', 1024 * 1024];
  return `${bytes.toLocaleString('en-US')} bytes (${Math.round((bytes / divisor) * 10) / 10} ${unit})`;
}

/** A bulk that broke off between two pages. */
export class BulkInterruptedError extends OnqueueError<{
  /** Of those that are in, in the order of the jobs; what a `queue()` of one's own gave no id for is left out. */
  readonly ids: readonly string[];
  /** The places of those that are not in, among the jobs that were given, counted from 0. */
  readonly unsent: readonly number[];
  readonly total: number;
  readonly queue: string;
}> {
  readonly code = 'E_BULK_INTERRUPTED';

  constructor(
    facts: {
      readonly ids: readonly string[];
      readonly unsent: readonly number[];
      readonly total: number;
      readonly queue: string;
    },
    what: string,
    options: { cause: unknown },
  ) {
    const { cause } = options;
    const { unsent, total } = facts;
    super(
      `${total - unsent.length} of ${total} jobs went in; then ${what}: ` +
        `${sentence(cause instanceof Error ? cause.message : String(cause))} ` +
        (unsent.length === 0
          ? 'Send none of them again.'
          : 'Send only those again whose places facts.unsent gives, counted from 0.'),
      facts,
      options,
    );
  }
}

/** A connector gave its connection another name than the configuration does. */
export class MisnamedConnectionError extends OnqueueError<{ readonly name: string; readonly given: string }> {
  readonly code = 'E_MISNAMED_CONNECTION';

  constructor(name: string, given: string, driver: string) {
    super(
      `The connector of the driver '${driver}' made a connection named '${given}', but the configuration calls it '${name}'. ` +
        `Use the name it is given: Queue.addConnector('${driver}', (config, { name }) => …).`,
      { name, given },
    );
  }
}

/** Onqueue's own entry point was not loaded, and with it nothing that managers are made of. */
export class NoManagerError extends OnqueueError {
  readonly code = 'E_NO_MANAGER';

  constructor() {
    super("Queue cannot be used yet: import from 'onqueue', not from a file inside the package.", {});
  }
}

/** The test kit was not loaded. */
export class NoFakeError extends OnqueueError {
  readonly code = 'E_NO_FAKE';

  constructor() {
    super("Queue.fake() belongs to the test kit: import 'onqueue/testing' first.", {});
  }
}

/** `through()` was given what cannot travel with the job. */
export class UnregisteredMiddlewareError extends OnqueueError<{ readonly middleware: string }> {
  readonly code = 'E_UNREGISTERED_MIDDLEWARE';

  constructor(middleware: unknown) {
    const { name, remedy } = faultOf(middleware);
    super(`through() was given ${name}, which cannot travel with a job. ${remedy}`, { middleware: name });
  }
}

function faultOf(middleware: unknown): { readonly name: string; readonly remedy: string } {
  if (Array.isArray(middleware)) return { name: 'a list', remedy: 'Give it what is in it: through(first, second).' };
  if (typeof middleware !== 'function') {
    const { name } = Object(middleware).constructor as { readonly name: string };
    return { name: `an instance of ${name}`, remedy: `Add @Middleware() above class ${name}.` };
  }
  const { name } = middleware;
  return /^class\b/.test(Function.prototype.toString.call(middleware))
    ? { name: `the class ${name}`, remedy: `Give it an instance: new ${name}(…).` }
    : {
        name: 'a function',
        remedy: "Give it an instance of a class with @Middleware(), or use the job's own middleware().",
      };
}

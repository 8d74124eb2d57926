/** Errors of a dispatch. */
import { classOf } from '../base/class';
import { defineError, errorClass } from '../base/onqueue-error';
import { errorMessage } from '../base/exception-text';
import { sentence, valueText } from '../base/text';

/** A builder call after the job was sent: it would have no effect. */
export class AlreadyDispatchedError extends errorClass(
  'E_ALREADY_DISPATCHED',
  (job: string, call: string, awaited: boolean) => ({
    message: `This ${job} was already sent${awaited ? '' : ' (it was not awaited)'}; call ${call}() before the first await.`,
    facts: { job, call },
  }),
) {}

/** Becomes an unhandled rejection. */
export const unawaitedDispatch = defineError('E_UNAWAITED_DISPATCH', (job: string, cause: unknown) => ({
  message:
    `${job} could not be dispatched, and nobody awaited it: ${cause instanceof Error ? cause.message : String(cause)} ` +
    '— await it, or set Queue.onError.',
  facts: { job },
  cause,
}));

/** What was dispatched or connected as an event is none, or no worker could make it. */
export const invalidEvent = defineError('E_INVALID_EVENT', (value: unknown, remedy: string) => ({
  message: `${described(value)} cannot be sent to listeners. ${remedy}`,
  facts: { value: typeof value },
}));

// Its data are not quoted: they may be secret.
function described(value: unknown): string {
  const target = typeof value === 'function' ? value : classOf(value);
  if (target === undefined || target === Object)
    return value === undefined || value === null ? String(value) : `A plain ${typeof value}`;
  return typeof value === 'function' ? `The class ${target.name}` : `This ${target.name}`;
}

export const unmappedCommand = defineError('E_UNMAPPED_COMMAND', (command: string) => ({
  message:
    `${command} is not a job, and no handler is mapped to it. Decorate the class with @Job(), or call ` +
    `Bus.map([[${command}, ItsHandler]]) first.`,
  facts: { command },
}));

/** `this.release()` or `this.appendToChain()` under `dispatchNow`. */
export const notQueued = defineError('E_NOT_QUEUED', (job: string) => ({
  message: `${job} runs in place (dispatchNow) and not from a queue, so it cannot be released, and jobs cannot follow it. Dispatch it to a queue.`,
  facts: { job },
}));

/** `this.fail('…')` under `dispatchNow`. */
export const failedInPlace = defineError('E_FAILED_IN_PLACE', (job: string, message: string | undefined) => ({
  message: message ?? `${job} called fail() without an error.`,
  facts: { job },
}));

/** `dispatchNow` of an instance that already runs: each run would take `this.job` from the other. */
export const alreadyRunning = defineError('E_ALREADY_RUNNING', (job: string) => ({
  message: `This ${job} is already running, and its this.job can belong to one run only. Make a new ${job} for each run.`,
  facts: { job },
}));

export interface InterruptedBulk {
  /** The ids of the jobs that are in, in order; without jobs whose own `queue()` returned no id. */
  readonly ids: readonly string[];
  /** The positions of the jobs that are not in, counted from 0. */
  readonly unsent: readonly number[];
  readonly total: number;
  readonly queue: string;
}

/** A bulk that was interrupted between two pages. */
export class BulkInterruptedError extends errorClass(
  'E_BULK_INTERRUPTED',
  (facts: InterruptedBulk, what: string, options: { cause: unknown }) => ({
    message:
      `${facts.total - facts.unsent.length} of ${facts.total} jobs went in; then ${what}: ${sentenceOf(options.cause)} ` +
      (facts.unsent.length === 0
        ? 'Send none of them again.'
        : 'Send only those again whose positions are in facts.unsent, counted from 0.'),
    facts,
    cause: options.cause,
  }),
) {}

function sentenceOf(error: unknown): string {
  return sentence(error instanceof Error ? error.message : String(error));
}

/** A job that was dispatched with `afterCommit()`. */
export interface CommittedJob {
  /** Empty if the job pushes itself. */
  readonly id: string;
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
}

const MOST_NAMED = 5;

export interface CommitFacts {
  readonly sent: readonly CommittedJob[];
  /** Jobs that ran at once, on `sync`, and failed. `resend` leaves them alone. */
  readonly failed: readonly CommittedJob[];
  /** A job whose answer was lost may be queued nevertheless; the causes say so. */
  readonly unsent: readonly CommittedJob[];
}

/**
 * The function of `Queue.transaction()` has resolved, but some of the jobs that follow it are not queued, or failed on `sync`.
 */
export class AfterCommitError extends errorClass(
  'E_AFTER_COMMIT',
  (facts: CommitFacts, errors: readonly unknown[], _result: unknown, _send: () => Promise<void>) => {
    const { sent, failed, unsent } = facts;
    const problems = [
      ...(unsent.length > 0
        ? [`${unsent.length} ${unsent.length === 1 ? 'was' : 'were'} not queued (${namesOf(unsent)})`]
        : []),
      ...(failed.length > 0 ? [`${failed.length} ran at once and failed (${namesOf(failed)})`] : []),
    ];
    const remedy = unsent.length > 0 ? 'error.resend() sends again what was not queued, and ' : '';
    return {
      message:
        `The function of Queue.transaction() has resolved and is not undone; of the ${sent.length + failed.length + unsent.length} jobs ` +
        `that were to follow it, ${problems.join(', and ')}: ${[...new Set(errors.map(sentenceOf))].join(' ')} ${remedy}error.result ` +
        'is its result.',
      facts,
      cause: errors.length === 1 ? errors[0] : new AggregateError(errors),
    };
  },
) {
  readonly #result: unknown;
  readonly #send: () => Promise<void>;
  #resending: Promise<void> | undefined;

  constructor(facts: CommitFacts, errors: readonly unknown[], result: unknown, send: () => Promise<void>) {
    super(facts, errors, result, send);
    this.#result = result;
    this.#send = send;
  }

  /** The result of the function. Not printed with the error. */
  get result(): unknown {
    return this.#result;
  }

  /**
   * Sends the unsent jobs once more, with the same ids; only once, however often it is called.
   *
   * @throws AfterCommitError some are still not sent; has a `resend` of its own
   */
  resend(): Promise<void> {
    return (this.#resending ??= this.#send());
  }
}

function namesOf(jobs: readonly CommittedJob[]): string {
  const names = jobs.slice(0, MOST_NAMED).map(({ name, id }) => (id === '' ? name : `${name} ${id}`));
  return names.join(', ') + (jobs.length > MOST_NAMED ? `, and ${jobs.length - MOST_NAMED} more` : '');
}

/** A job was dispatched with `afterCommit()` after its transaction had been rolled back. */
export const rolledBack = defineError('E_ROLLED_BACK', (jobs: readonly string[]) => ({
  message:
    `${jobs.join(', ')} was to follow a Queue.transaction() that had already been rolled back, and was not sent. In its ` +
    'function, await everything that it begins; leave out afterCommit() if a job must be sent in any case.',
  facts: { jobs },
}));

function givenKey(value: unknown, longest: number): string {
  if (typeof value === 'string' && value.length > longest)
    return `a string of ${value.length.toLocaleString('en-US')} characters`;
  return value instanceof Promise ? 'a promise' : valueText(value);
}

/** `job`: undefined if a call was given the key. `cause`: what `by` threw. `longest`: in characters. */
function keyRefused(job: string | undefined, option: string, value: unknown, longest: number, cause?: unknown) {
  const given = givenKey(value, longest);
  const rule = `a number, or a string of 1 to ${longest} characters`;
  const problem = cause === undefined ? `returned ${given}` : `threw (${errorMessage(cause)})`;
  return {
    message:
      job === undefined
        ? `${given} is not the key of a ${option}. Give what \`by\` returns: ${rule}.`
        : `${job} was not sent: the function \`by\` of its option ${option} ${problem}. It must return ${rule}.`,
    facts: { job, value: typeof value === 'string' && value.length > longest ? given : value },
    cause,
  };
}

/** The `by` of a unique or debounced job returned no valid key, or threw. Nothing was sent. */
export const invalidUniqueKey = defineError('E_INVALID_UNIQUE_KEY', keyRefused);

/** The `by` of a job's lane returned no valid key, or threw; or `Queue.lane` was given none. */
export const invalidLaneKey = defineError('E_INVALID_LANE_KEY', keyRefused);

export const invalidLaneLimit = defineError('E_INVALID_LANE_LIMIT', (limit: unknown) => ({
  message:
    `${valueText(limit)} is not a limit of a lane. Give a whole number from 1, or nothing for as many as its jobs say; ` +
    'to let in none, pause the lane.',
  facts: { limit },
}));

export const invalidJobId = defineError('E_INVALID_JOB_ID', (id: unknown) => ({
  message: `${valueText(id)} is not the id of a job. Give the string that dispatch() or push() resolved to: await it.`,
  facts: { id },
}));

/** `longest`: in characters. */
export const invalidCancelReason = defineError('E_INVALID_CANCEL_REASON', (reason: unknown, longest: number) => ({
  message: `${valueText(reason)} is not a valid reason for a cancellation. Give one line of 1 to ${longest} characters, or leave it out.`,
  facts: { reason, longest },
}));

export const invalidLimit = defineError('E_INVALID_LIMIT', (queue: string, limit: unknown) => ({
  message:
    `${valueText(limit)} is not a limit of the queue '${queue}'. Give { running: 5 }, where running is how many of its jobs may run at a ` +
    'time, at least 1. To hand out nothing, pause the queue; to remove the limit, give undefined.',
  facts: { queue, limit },
}));

export const debouncedJob = defineError('E_DEBOUNCED', (id: string) => ({
  message:
    `The job ${id} is debounced, so it cannot wait until another moment: the next dispatch with its key would not find it. ` +
    'Dispatch it again to put it off, or promote it to run it now.',
  facts: { id },
}));

/** `through()` was given something that cannot travel with the job. */
export const unregisteredMiddleware = defineError('E_UNREGISTERED_MIDDLEWARE', (middleware: unknown) => {
  const { name, remedy } = faultOf(middleware);
  return {
    message: `through() was given ${name}, which cannot travel with a job. ${remedy}`,
    facts: { middleware: name },
  };
});

function faultOf(middleware: unknown): { readonly name: string; readonly remedy: string } {
  if (Array.isArray(middleware))
    return { name: 'a list', remedy: 'Give its members one by one: through(first, second).' };
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

/** A debounced job in a chain or batch: another job could take its place, and that of all jobs behind it. */
export const debouncedInChain = defineError('E_DEBOUNCED_IN_CHAIN', (job: string) => ({
  message:
    `${job} is debounced, and cannot be in a chain or a batch: a dispatch that took its place would end it. Dispatch it from the ` +
    'handle() of one of the other jobs, or use a job without debounce.',
  facts: { job },
}));

/** Nothing of Onqueue happens when a worker of Laravel runs the job: a chain would end with it, a batch never. */
export const aloneInLaravel = defineError('E_LARAVEL_DISPATCH', (job: string) => ({
  message:
    `${job} may run in Laravel, which knows no chains, batches, schedules and middleware of Onqueue. Dispatch it alone, for example ` +
    'from handle() of a job in the chain, and write its middleware in both classes.',
  facts: { job },
}));

/** A link with a `queue()` of its own: it would leave the chain, and its followers with it. */
export const pushesItselfInChain = defineError('E_PUSHES_ITSELF', (job: string) => ({
  message: `${job} pushes itself by its queue(), so nothing can follow it in a chain. Push the following jobs from its handle().`,
  facts: { job },
}));

/** `Queue.transaction()` cannot open a transaction of this. @param problem default: it is of no library that is known */
export const unknownDatabase = defineError('E_UNKNOWN_DATABASE', (database: unknown, problem?: string) => {
  // Never show its fields: a client may hold a password.
  const isObject = typeof database === 'object' && database !== null;
  const given = isObject ? `an instance of ${database.constructor?.name ?? 'no class'}` : `a ${typeof database}`;
  const usual =
    'which is no database of kysely, knex, Prisma or Drizzle. For another library, begin its transaction yourself: ' +
    'Queue.transaction(() => dataSource.transaction(work)).';
  return { message: `Queue.transaction() was given ${given}, ${problem ?? usual}`, facts: { given } };
});

/** A job of a batch goes elsewhere, where no step could count it. */
export const batchElsewhere = defineError('E_BATCH_ELSEWHERE', (job: string, place: string, batch: string) => ({
  message: `${job} goes to ${place}, but its batch is kept on ${batch}. Send all jobs of a batch there, with onConnection() and onQueue() of the batch.`,
  facts: { job, place, batch },
}));

/** The rest of a batch that is a link of a chain cannot be sent any more. */
export const batchForgotten = defineError('E_BATCH_FORGOTTEN', (batch: string, connection: string) => ({
  message:
    `Not all jobs of the batch ${batch} on connection '${connection}' were sent: its worker died, and which of them were sent was ` +
    'remembered for only a week. Look for those that are missing, and dispatch them and what follows the batch again.',
  facts: { batch, connection },
}));

/** Not all jobs of a batch are in. */
export const batchIncomplete = defineError(
  'E_BATCH_INCOMPLETE',
  (batch: string, queued: number, total: number | undefined, cause?: unknown) => {
    const all = total === undefined ? `${queued} jobs` : `${queued} of ${total} jobs`;
    const end = cause === undefined ? 'its dispatcher ended' : `an error occurred: ${errorMessage(cause)}`;
    return {
      message: `${all} of the batch ${batch} were queued before ${end}. It is cancelled: its waiting jobs are skipped. Send it again.`,
      facts: { batch, queued, total },
      cause,
    };
  },
);

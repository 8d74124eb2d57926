/** What can go wrong with a dispatch. */
import { defineError, errorClass } from '../base/define-error';
import { errorMessage } from '../base/exception-text';
import { sentence } from '../base/plain-text';
import { valueText } from '../base/value-text';

/** A builder call came after the job was sent; it would have changed nothing. */
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

export const unmappedCommand = defineError('E_UNMAPPED_COMMAND', (command: string) => ({
  message:
    `${command} is no job, and no handler is mapped to it. Decorate the class with @Job(), or call ` +
    `Bus.map([[${command}, ItsHandler]]) first.`,
  facts: { command },
}));

/** `this.release()` or `this.appendToChain()` under `dispatchNow`. */
export const notQueued = defineError('E_NOT_QUEUED', (job: string) => ({
  message: `${job} runs in place (dispatchNow) and came from no queue, so it cannot be released, nor can jobs follow it. Dispatch it to a queue.`,
  facts: { job },
}));

/** `this.fail('…')` under `dispatchNow`. */
export const failedInPlace = defineError('E_FAILED_IN_PLACE', (job: string, message: string | undefined) => ({
  message: message ?? `${job} failed itself, by fail() without an error.`,
  facts: { job },
}));

/** `dispatchNow` of an instance that runs already: each run would take `this.job` from the other. */
export const alreadyRunning = defineError('E_ALREADY_RUNNING', (job: string) => ({
  message: `This ${job} is already running, and its this.job can belong to one run only. Make a new ${job} for each run.`,
  facts: { job },
}));

export interface InterruptedBulk {
  /** Of those that are in, in the order of the jobs; what a `queue()` of one's own gave no id for is left out. */
  readonly ids: readonly string[];
  /** The places of those that are not in, among the jobs that were given, counted from 0. */
  readonly unsent: readonly number[];
  readonly total: number;
  readonly queue: string;
}

/** A bulk that broke off between two pages. */
export class BulkInterruptedError extends errorClass(
  'E_BULK_INTERRUPTED',
  (facts: InterruptedBulk, what: string, options: { cause: unknown }) => ({
    message:
      `${facts.total - facts.unsent.length} of ${facts.total} jobs went in; then ${what}: ${sentenceOf(options.cause)} ` +
      (facts.unsent.length === 0
        ? 'Send none of them again.'
        : 'Send only those again whose places facts.unsent gives, counted from 0.'),
    facts,
    cause: options.cause,
  }),
) {}

function sentenceOf(error: unknown): string {
  return sentence(error instanceof Error ? error.message : String(error));
}

/** A job that was dispatched with `afterCommit()`. */
export interface CommittedJob {
  /** Empty where the job pushes itself. */
  readonly id: string;
  readonly name: string;
  readonly connection: string;
  readonly queue: string;
}

const MOST_NAMED = 5;

export interface CommitFacts {
  readonly sent: readonly CommittedJob[];
  /** They ran at once, on `sync`, and failed: `resend` leaves them alone. */
  readonly failed: readonly CommittedJob[];
  /** One whose answer was lost may be queued all the same: the causes say so. */
  readonly unsent: readonly CommittedJob[];
}

/** The function of `Queue.transaction()` is done, but not all jobs that were to follow it are queued, or have run on `sync`. */
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
        `The function of Queue.transaction() is done, and stays so; of the ${sent.length + failed.length + unsent.length} jobs ` +
        `that were to follow it, ${problems.join(', and ')}: ${[...new Set(errors.map(sentenceOf))].join(' ')} ${remedy}error.result ` +
        'is what the function gave.',
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

  /** What the function gave. Not printed with the error. */
  get result(): unknown {
    return this.#result;
  }

  /**
   * Sends what was not sent once more, with the same ids; once, however often it is called.
   *
   * @throws AfterCommitError of what is still not sent, with a `resend` of its own
   */
  resend(): Promise<void> {
    return (this.#resending ??= this.#send());
  }
}

function namesOf(jobs: readonly CommittedJob[]): string {
  const names = jobs.slice(0, MOST_NAMED).map(({ name, id }) => (id === '' ? name : `${name} ${id}`));
  return names.join(', ') + (jobs.length > MOST_NAMED ? `, and ${jobs.length - MOST_NAMED} more` : '');
}

/** A job came with `afterCommit()` when its transaction had been rolled back already. */
export const rolledBack = defineError('E_ROLLED_BACK', (jobs: readonly string[]) => ({
  message:
    `${jobs.join(', ')} was to follow a Queue.transaction() that had been rolled back already, and was not sent. Await in ` +
    'its function all that it begins; leave afterCommit() out where a job is to be sent in any case.',
  facts: { jobs },
}));

/** The `by` of a unique or debounced job made no key, or threw `cause`. Nothing was sent. `longest`: characters. */
export const invalidUniqueKey = defineError(
  'E_INVALID_UNIQUE_KEY',
  (job: string, option: 'unique' | 'debounce', value: unknown, longest: number, cause?: unknown) => {
    const isLong = typeof value === 'string' && value.length > longest;
    const given = isLong
      ? `a string of ${value.length.toLocaleString('en-US')} characters`
      : value instanceof Promise
        ? 'a promise'
        : valueText(value);
    const problem = cause === undefined ? `returned ${given}` : `threw (${errorMessage(cause)})`;
    return {
      message: `${job} was not sent: the function \`by\` of its option ${option} ${problem}. It must return a number, or a string of 1 to ${longest} characters.`,
      facts: { job, value: isLong ? given : value },
      cause,
    };
  },
);

export const invalidJobId = defineError('E_INVALID_JOB_ID', (id: unknown) => ({
  message: `${valueText(id)} is not the id of a job. Give the string that dispatch() or push() resolved to: await it.`,
  facts: { id },
}));

/** `longest`: characters. */
export const invalidCancelReason = defineError('E_INVALID_CANCEL_REASON', (reason: unknown, longest: number) => ({
  message: `${valueText(reason)} is no reason for a cancellation. Give one line of 1 to ${longest} characters, or leave it out.`,
  facts: { reason, longest },
}));

/** `through()` was given what cannot travel with the job. */
export const unregisteredMiddleware = defineError('E_UNREGISTERED_MIDDLEWARE', (middleware: unknown) => {
  const { name, remedy } = faultOf(middleware);
  return {
    message: `through() was given ${name}, which cannot travel with a job. ${remedy}`,
    facts: { middleware: name },
  };
});

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

/** A link, or a job of a batch, that another one could take the place of, and that of all behind it. */
export const debouncedInChain = defineError('E_DEBOUNCED_IN_CHAIN', (job: string) => ({
  message:
    `${job} is debounced, and cannot be in a chain or a batch: the dispatch that took its place would end it. Dispatch it from the ` +
    'handle() of one of the other jobs, or take a job without debounce.',
  facts: { job },
}));

/** A link whose class has a `queue()` of its own: it would go its own way, and what follows it with it. */
export const pushesItselfInChain = defineError('E_PUSHES_ITSELF', (job: string) => ({
  message: `${job} pushes itself by its queue(), so nothing can follow it in a chain. Push what is to follow from its handle().`,
  facts: { job },
}));

/** A job of a batch goes elsewhere: no step could count it. */
export const batchElsewhere = defineError('E_BATCH_ELSEWHERE', (job: string, place: string, batch: string) => ({
  message: `${job} goes to ${place}, and its batch is kept on ${batch}. Send all jobs of a batch there, by onConnection() and onQueue() of the batch.`,
  facts: { job, place, batch },
}));

/** Not all jobs of a batch are in. */
export const batchIncomplete = defineError(
  'E_BATCH_INCOMPLETE',
  (batch: string, queued: number, total: number | undefined, cause?: unknown) => {
    const all = total === undefined ? `${queued} jobs` : `${queued} of ${total} jobs`;
    const end = cause === undefined ? 'its dispatcher ended' : `an error came: ${errorMessage(cause)}`;
    return {
      message: `${all} of the batch ${batch} were queued before ${end}. It is cancelled: those that wait are skipped. Send it anew.`,
      facts: { batch, queued, total },
      cause,
    };
  },
);

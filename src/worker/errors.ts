/**
 * Errors that end a run or keep a worker from starting. The classes are reasons of a job's `signal`; a handler may tell them
 * apart by class.
 */
import { defineError, errorClass } from '../base/onqueue-error';
import { errorMessage } from '../base/exception-text';
import { valueText } from '../base/text';
import { placed } from '../job/errors';

/** The reason of `signal` and the exception of the attempt once `timeout` has passed. */
export class JobTimedOutError extends errorClass('E_JOB_TIMED_OUT', (job: string, id: string, timeout: number) => ({
  message:
    `${job} ${id} ran longer than its timeout of ${timeout} s. Give it a longer timeout in @Job(), or let its ` +
    'handle() stop when this.signal aborts.',
  facts: { job, id, timeout },
})) {}

/** The reason of `signal` when the lease ran out and somebody else may hold the job. */
export class LeaseLostError extends errorClass('E_LEASE_LOST', (job: string, id: string) => ({
  message:
    `The lease of ${job} ${id} was lost: another worker may run it now, so the outcome of this run is refused. ` +
    'Was the process frozen, or the store out of reach, for longer than retryAfter?',
  facts: { job, id },
})) {}

/** The reason of `signal` when the worker stops and the job has not ended within the grace. */
export class WorkerStoppingError extends errorClass('E_WORKER_STOPPING', (job: string, id: string) => ({
  message: `The worker stops; ${job} ${id} goes back to its queue at no cost in tries.`,
  facts: { job, id },
})) {}

/** The reason of `signal` when somebody cancelled the job. */
export class JobCancelledError extends errorClass('E_JOB_CANCELLED', (job: string, id: string, reason?: string) => ({
  message:
    `${job} ${id} was cancelled${reason === undefined ? '' : ` (${reason})`}. ` +
    'A handle() that stops when this.signal aborts ends it at once.',
  facts: { job, id, reason },
})) {
  /** The reason given to `Queue.cancel(id, { reason })`. */
  get reason(): string | undefined {
    return this.facts.reason;
  }
}

/** The error of a job whose release the store refused. It was kept as failed instead. */
export const outcomeRefused = defineError(
  'E_OUTCOME_REFUSED',
  (job: string, id: string, outcome: 'released' | 'completed', refusal: unknown) => ({
    message: `The store refused the outcome of ${job} ${id} (${outcome}), so the job was kept as failed: ${errorMessage(refusal)} Retry it once that is fixed.`,
    facts: { job, id },
  }),
);

/**
 * No further attempt of a job may start: its tries or its time are used up. `timeouts`: how many of its attempts timed out. If
 * its worker could not record the last timeout, that is why it was reserved again. `cause`: its last error, if it is known.
 */
export const maxAttemptsExceeded = defineError(
  'E_MAX_ATTEMPTS_EXCEEDED',
  (
    job: string,
    id: string,
    attempts: number,
    { tries, retryUntil }: { readonly tries: number; readonly retryUntil: number | undefined },
    timeouts: number = 0,
    cause?: Error,
  ) => {
    const why = timeouts > 0 ? `, of which ${timeouts} timed out` : '';
    return {
      message:
        retryUntil === undefined
          ? `${job} ${id} has used up its tries (${tries}${why}): this would be attempt ${attempts}. Raise tries in @Job() if it should get more.`
          : `${job} ${id} could be tried until ${new Date(retryUntil).toISOString()}: attempt ${attempts} would start too late.`,
      facts: { job, id, attempts, tries, retryUntil },
      cause,
    };
  },
);

/** A job was reserved although it has thrown as often as it may. `cause`: its last error, if it is known. */
export const maxExceptionsExceeded = defineError(
  'E_MAX_EXCEPTIONS_EXCEEDED',
  (job: string, id: string, exceptions: number, maxExceptions: number, cause?: Error) => ({
    message:
      `${exceptions} attempts of ${job} ${id} ended with an error, and it may have only ${maxExceptions}. ` +
      'Raise maxExceptions in @Job() if it should get more.',
    facts: { job, id, exceptions, maxExceptions },
    cause,
  }),
);

/** Workers died or froze too often while they ran this job. */
export const poisonJob = defineError('E_POISON_JOB', (job: string, id: string, crashes: number) => ({
  message:
    `${crashes} workers died or froze while they ran ${job} ${id}: it counts as poison and runs no more. ` +
    'Find out what it does to its process (memory, a blocked event loop), then retry it.',
  facts: { job, id, crashes },
}));

/** Why a job whose next crash would be its last was given back: the others in its worker did not end in time. Only logged. */
export const waitsToRunAlone = defineError('E_WAITS_TO_RUN_ALONE', (job: string, id: string, crashes: number) => ({
  message:
    `${job} ${id} waits to run alone, because its next crash would be its last (crashes so far: ${crashes}), and the other jobs of this ` +
    'worker have not ended in time. The third time it runs beside others.',
  facts: { job, id, crashes },
}));

/** The error behind `this.fail('…')` and `this.fail()`. */
export const manuallyFailed = defineError(
  'E_MANUALLY_FAILED',
  (message: string = 'The job failed itself, by fail() without an error.') => ({ message }),
);

/**
 * A hook or `failed()` has not returned in time, and the worker goes on without it. Only reported. `callback` is its name in
 * the sentence: `the hook after`, `failed()`.
 */
export const callbackTimedOut = defineError(
  'E_CALLBACK_TIMED_OUT',
  (callback: string, job: string, id: string, limit: number) => ({
    message:
      `${job} ${id}: ${callback} has not returned within ${limit} s, and the worker goes on without it. It may take as ` +
      "long as the job's timeout; anything that takes longer belongs in a job of its own.",
    facts: { job, id, callback, limit },
  }),
);

/** A job's `middleware()` did not return a list; or, with an `index`, the entry at that place is not middleware. */
export const invalidMiddleware = defineError('E_INVALID_MIDDLEWARE', (job: string, given: unknown, index?: number) => ({
  message:
    index === undefined
      ? `${job}.middleware() returned ${shapeOf(given)}, and must return a list: return [throttle]. It is not awaited.`
      : `${job}.middleware() returned ${typeof given === 'function' ? `the class ${given.name || 'without a name'}` : shapeOf(given)} at place ` +
        `${index} of its list. Middleware is a function (job, next) or an instance with such a handle(): new Throttle().`,
  facts: { job, index },
}));

// Never quote an object: it may hold personal data.
function shapeOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (value instanceof Promise) return 'a promise';
  if (typeof value !== 'object') return `a ${typeof value}`;
  return 'handle' in value ? 'an object' : 'an object without handle()';
}

/** Middleware called `next()` a second time, or (`isLate`) after it had returned. That call runs nothing. */
export const middlewareNext = defineError(
  'E_MIDDLEWARE_NEXT',
  (job: string, id: string, middleware: string, isLate: boolean) => {
    const who = `The middleware ${middleware === '' ? '' : `${middleware} `}of ${job} ${id}`;
    const what = isLate
      ? 'called next() after it had returned: that runs nothing any more. Let it await what leads to next().'
      : 'called next() a second time. A run goes on only once; give the job more tries if it should run again.';
    return { message: `${who} ${what}`, facts: { job, id, middleware } };
  },
);

interface RegisteredJob {
  readonly name: string;
  readonly file: string | undefined;
}

/** A longer list would bury the message. */
const LISTED = 10;

/** No class here has the payload's job name. `registered`: all jobs known here. */
export const unknownJob = defineError(
  'E_UNKNOWN_JOB',
  (name: string, nearest: readonly string[], registered: readonly RegisteredJob[]) => {
    const alike = registered.filter((job) => nearest.includes(job.name));
    const shown = alike.length > 0 ? alike : registered;
    const known =
      registered.length === 0
        ? 'No job is registered at all.'
        : shown.length > LISTED
          ? `None of the ${registered.length} registered jobs has a name like it.`
          : `Registered: ${shown.map((job) => placed(job.name, job.file)).join(', ')}.`;
    return {
      message: `No job '${name}' here. ${known} Import its file in onqueue.config or pass --require. If its class was renamed: @Job({ aliases: ['${name}'] }).`,
      facts: { name, nearest, registered: registered.length },
    };
  },
);

/** The job is of a Laravel application, whose workers alone can run it. `reason`: why this one cannot. */
export const laravelJob = defineError('E_LARAVEL_JOB', (job: string, id: string, reason: string) => ({
  message:
    `${job} ${id} goes back to its queue for a worker of Laravel: ${reason}. Send such jobs to a queue on which no worker of ` +
    'Onqueue works; docs/with-laravel.md says what can cross.',
  facts: { job, id, reason },
}));

/** A worker option has an invalid value. The message shows `said` in place of the value. */
export const invalidWorkerOption = defineError(
  'E_INVALID_WORKER_OPTION',
  (option: string, value: unknown, expected: string, said: string = toldOf(value)) => ({
    message: `Worker: ${option} is ${said}; ${expected}${expected.endsWith('?') ? '' : '.'}`,
    facts: { option, value },
  }),
);

// Never quote an object: a connection given in BullMQ's style holds a password.
function toldOf(value: unknown): string {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? 'an object' : valueText(value);
}

/** `run()` was called a second time. */
export const workerAlreadyRun = defineError('E_WORKER_ALREADY_RUN', () => ({
  message: 'This worker was run already; a stopped worker does not start again. Make a new Worker.',
}));

/** What can end a run or keep a worker from starting. The first four are the reasons of a job's `signal`. */
import { OnqueueError } from '../base/onqueue-error';
import { errorMessage } from '../base/exception-text';
import { placed } from '../job/errors';
import { valueText } from '../base/value-text';

interface JobFacts {
  readonly job: string;
  readonly id: string;
}

/** The reason of `signal`, and the exception of the attempt, when `timeout` has passed. */
export class JobTimedOutError extends OnqueueError<JobFacts & { readonly timeout: number }> {
  readonly code = 'E_JOB_TIMED_OUT';

  constructor(job: string, id: string, timeout: number, options?: { cause?: unknown }) {
    super(
      `${job} ${id} ran longer than its timeout of ${timeout} s. Give it a longer timeout in @Job(), or let its ` +
        'handle() stop when this.signal aborts.',
      { job, id, timeout },
      options,
    );
  }
}

/** The reason of `signal` when the lease ran out and somebody else may hold the job. */
export class LeaseLostError extends OnqueueError<JobFacts> {
  readonly code = 'E_LEASE_LOST';

  constructor(job: string, id: string) {
    super(
      `The lease of ${job} ${id} was lost: another worker may run it now, so whatever this run gives is refused. ` +
        'Was the process frozen, or the store out of reach, for longer than retryAfter?',
      { job, id },
    );
  }
}

/** The reason of `signal` when the worker stops and the job has outlived its grace. */
export class WorkerStoppingError extends OnqueueError<JobFacts> {
  readonly code = 'E_WORKER_STOPPING';

  constructor(job: string, id: string) {
    super(`The worker stops; ${job} ${id} goes back to its queue at no cost in tries.`, { job, id });
  }
}

/** The error of a job that was to run again, and whose release the store refused: it was kept as failed instead. */
export class OutcomeRefusedError extends OnqueueError<JobFacts> {
  readonly code = 'E_OUTCOME_REFUSED';

  constructor(job: string, id: string, outcome: 'released', refusal: unknown) {
    super(
      `The store refused that ${job} ${id} be ${outcome}, so it was kept as failed: ${errorMessage(refusal)} Retry it when that is mended.`,
      { job, id },
    );
  }
}

/** The reason of `signal` when somebody cancelled the job. `reason`: what was said, if anything was. */
export class JobCancelledError extends OnqueueError<JobFacts & { readonly reason: string | undefined }> {
  readonly code = 'E_JOB_CANCELLED';

  constructor(job: string, id: string, reason?: string) {
    const why = reason === undefined ? '' : ` (${reason})`;
    super(`${job} ${id} was cancelled${why}. A handle() that stops when this.signal aborts ends it at once.`, {
      job,
      id,
      reason,
    });
  }

  /** What was given to `Queue.cancel(id, { reason })`. */
  get reason(): string | undefined {
    return this.facts.reason;
  }
}

/** A job that was reserved although its tries or its time were used up. */
export class MaxAttemptsExceededError extends OnqueueError<
  JobFacts & { readonly attempts: number; readonly tries: number; readonly retryUntil: number | undefined }
> {
  readonly code = 'E_MAX_ATTEMPTS_EXCEEDED';

  /** @param timeouts how many of its attempts timed out: where its worker could not record the last one, that is why */
  constructor(
    job: string,
    id: string,
    attempts: number,
    tries: number,
    retryUntil: number | undefined,
    timeouts: number = 0,
  ) {
    const why = timeouts > 0 ? `, of which ${timeouts} timed out` : '';
    super(
      retryUntil === undefined
        ? `${job} ${id} has used up its tries (${tries}${why}): this would be attempt ${attempts}. Raise tries in @Job() if it should get more.`
        : `${job} ${id} was to be tried until ${new Date(retryUntil).toISOString()}, which has passed.`,
      { job, id, attempts, tries, retryUntil },
    );
  }
}

/** A job that was reserved although it has thrown as often as it may. */
export class MaxExceptionsExceededError extends OnqueueError<
  JobFacts & { readonly exceptions: number; readonly maxExceptions: number }
> {
  readonly code = 'E_MAX_EXCEPTIONS_EXCEEDED';

  constructor(job: string, id: string, exceptions: number, maxExceptions: number) {
    super(
      `${exceptions} attempts of ${job} ${id} ended by an error, and it may have ${maxExceptions}. ` +
        'Raise maxExceptions in @Job() if it should get more.',
      { job, id, exceptions, maxExceptions },
    );
  }
}

/** A job whose workers died or froze under it too often. */
export class PoisonJobError extends OnqueueError<JobFacts & { readonly crashes: number }> {
  readonly code = 'E_POISON_JOB';

  constructor(job: string, id: string, crashes: number) {
    super(
      `${crashes} workers died or froze while they ran ${job} ${id}: it counts as poison and runs no more. ` +
        'Find out what it does to its process (memory, a blocked event loop), then retry it.',
      { job, id, crashes },
    );
  }
}

/** What `this.fail('…')` and `this.fail()` fail a job with. */
export class ManuallyFailedError extends OnqueueError {
  readonly code = 'E_MANUALLY_FAILED';

  constructor(message = 'The job failed itself, by fail() without an error.') {
    super(message, {});
  }
}

/** A hook or `failed()` that has not come back in time: the worker goes on without it. Only reported. */
export class CallbackTimedOutError extends OnqueueError<
  JobFacts & { readonly callback: string; readonly limit: number }
> {
  readonly code = 'E_CALLBACK_TIMED_OUT';

  /** @param callback as the sentence says it: `the hook after`, `failed()` */
  constructor(callback: string, job: string, id: string, limit: number) {
    super(
      `${job} ${id}: ${callback} has not come back within ${limit} s, and the worker goes on without it. It may take as ` +
        "long as the job's timeout; what takes longer belongs into a job of its own.",
      { job, id, callback, limit },
    );
  }
}

/** What a job's `middleware()` gave is no list, or something in it no middleware. */
export class InvalidMiddlewareError extends OnqueueError<{ readonly job: string; readonly index: number | undefined }> {
  readonly code = 'E_INVALID_MIDDLEWARE';

  /** @param index its place in the list; undefined: `given` is what should be the list */
  constructor(job: string, given: unknown, index?: number) {
    super(
      index === undefined
        ? `${job}.middleware() gave ${shapeOf(given)}, and must give a list: return [throttle]. It is not awaited.`
        : `${job}.middleware() gave ${typeof given === 'function' ? `the class ${given.name || 'without a name'}` : shapeOf(given)} at place ` +
            `${index} of its list. Middleware is a function (job, next) or an instance with such a handle(): new Throttle().`,
      { job, index },
    );
  }
}

// Of an object nothing is quoted, for it may be anybody's data.
function shapeOf(value: unknown): string {
  if (value === undefined || value === null) return String(value);
  if (value instanceof Promise) return 'a promise';
  if (typeof value !== 'object') return `a ${typeof value}`;
  return 'handle' in value ? 'an object' : 'an object without handle()';
}

/** Middleware called `next()` a second time, or when it had come back already. The second call runs nothing. */
export class MiddlewareNextError extends OnqueueError<JobFacts & { readonly middleware: string }> {
  readonly code = 'E_MIDDLEWARE_NEXT';

  /** @param middleware its name; a function may have none */
  constructor(job: string, id: string, middleware: string, isLate: boolean) {
    const who = `The middleware ${middleware === '' ? '' : `${middleware} `}of ${job} ${id}`;
    super(
      isLate
        ? `${who} called next() when it had come back already: that runs nothing any more. Let it wait for what leads to next().`
        : `${who} called next() a second time. A run goes on once; give the job tries where it is to run again.`,
      { job, id, middleware },
    );
  }
}

/** A payload whose job name no class here has. */
export class UnknownJobError extends OnqueueError<{
  readonly name: string;
  readonly nearest: readonly string[];
  readonly registered: number;
}> {
  readonly code = 'E_UNKNOWN_JOB';

  /** @param registered all jobs that are known here */
  constructor(name: string, nearest: readonly string[], registered: readonly RegisteredJob[]) {
    const alike = registered.filter((job) => nearest.includes(job.name));
    const shown = alike.length > 0 ? alike : registered;
    const known =
      registered.length === 0
        ? 'No job is registered at all.'
        : shown.length > LISTED
          ? `None of the ${registered.length} registered jobs has a name like it.`
          : `Registered: ${shown.map((job) => placed(job.name, job.file)).join(', ')}.`;
    super(`No job '${name}' here. ${known} Import its file in onqueue.config or pass --require.`, {
      name,
      nearest,
      registered: registered.length,
    });
  }
}

/** A job that is one of Laravel's own classes. */
export class LaravelJobError extends OnqueueError<JobFacts> {
  readonly code = 'E_LARAVEL_JOB';

  constructor(job: string, id: string) {
    super(
      `${job} ${id} is a class of a Laravel application, which only its workers can run; it goes back to its queue. Let each queue have ` +
        'the workers of one of the two, and send by name and data what is meant for both: docs/dispatching.md#laravel.',
      { job, id },
    );
  }
}

interface RegisteredJob {
  readonly name: string;
  readonly file: string | undefined;
}

/** More jobs than these would hide what the message says. */
const LISTED = 10;

/** An option of a worker that cannot be. */
export class InvalidWorkerOptionError extends OnqueueError<{ readonly option: string; readonly value: unknown }> {
  readonly code = 'E_INVALID_WORKER_OPTION';

  /** @param said in place of the value */
  constructor(option: string, value: unknown, expected: string, said = toldOf(value)) {
    super(`Worker: ${option} is ${said}; ${expected}${expected.endsWith('?') ? '' : '.'}`, { option, value });
  }
}

// Of an object nothing is quoted: a connection of BullMQ's manner holds a password.
function toldOf(value: unknown): string {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? 'an object' : valueText(value);
}

/** `run()` was called a second time. */
export class WorkerAlreadyRunError extends OnqueueError {
  readonly code = 'E_WORKER_ALREADY_RUN';

  constructor() {
    super('This worker was run already; a stopped worker does not start again. Make a new Worker.', {});
  }
}

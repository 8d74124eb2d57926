/**
 * Puts jobs off at no cost in tries: by `deferOn`, by a limit that is reached, and while the store of a limit is away. A job is
 * never let through because nobody knows, and an ordinary error would cost it a try.
 */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Application, OperationsConnection } from '../connections/application';
import { isStoreAway } from '../connections/errors';
import { durationSeconds, momentOf, type Delay } from '../job/duration';
import { invalidMiddlewareArgument, limitReached, noJobRuns } from '../job/errors';
import type { JobContext } from '../job/job-context';
import { isErrorClass, isPlainFunction, type Middleware } from '../job/middleware';
import { uniqueKey } from '../payload/ties';
import { storeNow } from '../worker/outcome';
import type { RunningJob } from '../worker/running-job';

/** How long a job is put off while the store of its limit is away. */
const AWAY: Seconds = 5;
const TOLD_EVERY: Milliseconds = 60_000;
/** Who answers 429 does not mean more than a day. */
const LONGEST: Seconds = 86_400;

/**
 * Puts the job off, at no cost in tries, if it throws an instance of this class: for errors that say when to come back. Whatever
 * `wait` gives that is not between now and a day from now (also undefined) leaves the error as it is: an attempt that has failed.
 *
 * @throws E_INVALID_MIDDLEWARE_ARGUMENT
 */
export function deferOn<E extends Error>(
  kind: abstract new (...parameters: never[]) => E,
  wait: (error: E) => Delay | undefined,
): Middleware {
  if (!isErrorClass(kind)) throw invalidMiddlewareArgument('deferOn()', kind, DEFER_ON);
  if (!isPlainFunction(wait)) throw invalidMiddlewareArgument('deferOn()', wait, DEFER_ON);
  return {
    async handle(context, next) {
      try {
        return await next();
      } catch (error) {
        if (!(error instanceof kind) || context.signal.aborted) throw error;
        const job = limitedJob('deferOn()', context);
        const seconds = secondsUntil(wait(error as E), job, error);
        if (job.isAtOnce || !(seconds > 0 && seconds <= LONGEST)) throw error;
        return job.defer(seconds);
      }
    },
  };
}

const DEFER_ON =
  'Give an error class, and a function of the error: deferOn(TooManyRequests, (error) => error.retryAfter).';
const ANSWER = "Return a number of seconds, a duration such as '30s', a Date, or undefined.";

/** NaN if the error does not say. @throws E_INVALID_MIDDLEWARE_ARGUMENT */
function secondsUntil(when: unknown, job: RunningJob, error: unknown): Seconds {
  if (when === undefined || when === null) return Number.NaN;
  try {
    const subject = 'the wait of deferOn()';
    if (!(when instanceof Date)) return durationSeconds(when, subject);
    return (momentOf(when, subject) - storeNow(job, job.application)) / 1000;
  } catch {
    // The error of the job would not be seen otherwise.
    throw Object.assign(invalidMiddlewareArgument('The function of deferOn()', when, ANSWER), { cause: error });
  }
}

/** @throws E_NO_JOB_RUNS */
export function limitedJob(layer: string, context: JobContext): RunningJob {
  const job = context as Partial<RunningJob>;
  if (job.application === undefined) throw noJobRuns(layer);
  return context as RunningJob;
}

/** The connection that keeps the limits of the job. @throws E_NO_RECORDS */
export function keeperOf({ application, connectionName, name }: RunningJob): OperationsConnection {
  return application.neededOperationsOf(application.driver(connectionName), name);
}

/** The kind of the records of limits. */
export const LIMIT = 'limit';

/** The name of a record or a lock. Hashed, because a key may be long, and may be a secret. */
export const nameOf = (layer: 'rate' | 'overlap' | 'throttle', owner: string, key: string): string =>
  `${layer}:${uniqueKey(owner, key)}`;

/** @throws E_INVALID_MIDDLEWARE_ARGUMENT */
export function keyText(layer: string, key: unknown): string {
  const text = Number.isFinite(key) ? String(key) : key;
  if (typeof text === 'string' && text !== '' && text.length <= LONGEST_KEY) return text;
  throw invalidMiddlewareArgument(layer, key, `Its key is a number, or a text of 1 to ${LONGEST_KEY} characters.`);
}

const LONGEST_KEY = 1000;

/** @throws E_LIMIT_REACHED its connection runs jobs at once: whoever dispatched it has to know */
export function putOff(job: RunningJob, layer: string, wait: Seconds): void {
  if (job.isAtOnce) throw limitReached(job.name, job.id, job.connectionName, layer, wait);
  job.defer(wait);
}

/**
 * Asks the store of a limit. Undefined if it is away, and the job is put off.
 *
 * @throws what `ask` throws otherwise; why the run was aborted meanwhile
 */
export async function answerOf<T>(job: RunningJob, ask: () => Promise<T>): Promise<T | undefined> {
  try {
    const answer = await ask();
    if (job.abortReason !== undefined) throw job.abortReason;
    return answer;
  } catch (error) {
    if (!isStoreAway(error) || job.isAtOnce) throw error;
    reportAway(job, error);
    job.defer(AWAY * (0.8 + job.application.random() * 0.4));
    return undefined;
  }
}

const toldAt = new WeakMap<Application, Milliseconds>();

/** Once a minute: each job that is put off would say the same. */
export function reportAway(job: RunningJob, error: unknown): void {
  const { application } = job;
  const now = application.clock.monotonic();
  if (now - (toldAt.get(application) ?? -Infinity) < TOLD_EVERY) return;
  toldAt.set(application, now);
  application.report(error, { job, during: `the limits of ${job.name}` });
}

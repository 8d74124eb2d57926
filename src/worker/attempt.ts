/**
 * What ends an attempt: the one place where tries, crashes, exceptions, `retryUntil` and timeouts are weighed.
 *
 * Pure functions of the counters and the resolved options; the executor asks, the store is told elsewhere.
 */
import type { Milliseconds } from '../base/clock';
import type { RunOptions } from '../job/options';
import type { Counters } from '../payload/counters';
import { JobTimedOutError, MaxAttemptsExceededError, MaxExceptionsExceededError, PoisonJobError } from './errors';

interface Identity {
  readonly name: string;
  readonly id: string;
}

/** Why a reserved job must not run at all; undefined: it may. */
export function refusalOf(
  job: Identity,
  counters: Counters,
  options: RunOptions,
  now: Milliseconds,
): Error | undefined {
  if (options.maxCrashes > 0 && counters.crashes >= options.maxCrashes) {
    return new PoisonJobError(job.name, job.id, counters.crashes);
  }
  // An attempt whose worker could not record its end itself was only released: whether it was the last is seen here.
  if (options.failOnTimeout && counters.timeouts > 0) return new JobTimedOutError(job.name, job.id, options.timeout);
  if (options.maxExceptions !== undefined && counters.exceptions >= options.maxExceptions) {
    return new MaxExceptionsExceededError(job.name, job.id, counters.exceptions, options.maxExceptions);
  }
  const exhausted =
    options.retryUntil === undefined
      ? options.tries > 0 && counters.attempts > options.tries
      : now > options.retryUntil;
  return exhausted ? exhaustedBy(job, counters, options) : undefined;
}

function exhaustedBy({ name, id }: Identity, { attempts, timeouts }: Counters, options: RunOptions): Error {
  return new MaxAttemptsExceededError(name, id, attempts, options.tries, options.retryUntil, timeouts);
}

/** Whether a throw was the last that the job may allow itself. `counters` are those of the attempt that threw. */
export function isLastAttempt(counters: Counters, options: RunOptions, now: Milliseconds, timedOut: boolean): boolean {
  if (timedOut && options.failOnTimeout) return true;
  if (options.maxExceptions !== undefined && counters.exceptions + 1 >= options.maxExceptions) return true;
  if (options.retryUntil !== undefined) return now >= options.retryUntil;
  return options.tries > 0 && counters.attempts >= options.tries;
}

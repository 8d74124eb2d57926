/**
 * What ends a job: the one place where tries, crashes, exceptions, `retryUntil` and timeouts are weighed.
 *
 * Pure functions of the counters and the resolved options; the executor asks, the store is told elsewhere.
 */
import type { Milliseconds } from '../base/clock';
import type { RunOptions } from '../job/options';
import type { JobRegistry } from '../job/registry';
import { declaredOptions, DEFAULT_MAX_CRASHES } from '../job/resolve-options';
import type { Counters } from '../payload/counters';
import { JobTimedOutError, maxAttemptsExceeded, maxExceptionsExceeded, poisonJob } from './errors';

interface Identity {
  readonly name: string;
  readonly id: string;
}

/** Why a reserved job must not run at all; undefined: it may. */
export function refusalOf(
  { name, id }: Identity,
  { attempts, crashes, exceptions, timeouts }: Counters,
  { tries, maxCrashes, maxExceptions, failOnTimeout, timeout, retryUntil }: RunOptions,
  now: Milliseconds,
): Error | undefined {
  if (maxCrashes > 0 && crashes >= maxCrashes) return poisonJob(name, id, crashes);
  // An attempt whose worker could not record its end itself was only released: whether it was the last is seen here.
  if (failOnTimeout && timeouts > 0) return new JobTimedOutError(name, id, timeout);
  if (maxExceptions !== undefined && exceptions >= maxExceptions) {
    return maxExceptionsExceeded(name, id, exceptions, maxExceptions);
  }
  const isExhausted = retryUntil === undefined ? tries > 0 && attempts > tries : now > retryUntil;
  return isExhausted ? maxAttemptsExceeded(name, id, attempts, tries, retryUntil, timeouts) : undefined;
}

/** Whether a throw was the last that the job may allow itself. `counters` are those of the attempt that threw. */
export function isLastAttempt(counters: Counters, options: RunOptions, now: Milliseconds, timedOut: boolean): boolean {
  if (timedOut && options.failOnTimeout) return true;
  if (options.maxExceptions !== undefined && counters.exceptions + 1 >= options.maxExceptions) return true;
  if (options.retryUntil !== undefined) return now >= options.retryUntil;
  return options.tries > 0 && counters.attempts >= options.tries;
}

/** Whether a job is poison whichever of the registered ones it is. */
export function isPoisonForAll({ crashes }: Counters, registry: JobRegistry): boolean {
  if (crashes === 0) return false;
  const limits = crashLimits(registry);
  return !limits.includes(0) && crashes > Math.max(DEFAULT_MAX_CRASHES, ...limits);
}

/** Whether there is a registered job that would be poison after one more crash. */
export function mayBePoisonNext({ crashes }: Counters, registry: JobRegistry): boolean {
  const limits = crashLimits(registry).filter((limit) => limit > 0);
  return crashes + 1 >= Math.min(DEFAULT_MAX_CRASHES, ...limits);
}

function crashLimits(registry: JobRegistry): number[] {
  return registry.all().map((definition) => declaredOptions(definition).maxCrashes);
}

/**
 * How a job ends: decides whether it may run at all, and what the store has to write after it ended itself, threw or was
 * aborted.
 *
 * The one place that weighs tries, crashes, exceptions, `retryUntil` and timeouts. It only decides: it stores nothing and
 * tells nobody.
 */
import { attachContext } from '../job/choices';
import type { Milliseconds, Seconds } from '../base/clock';
import {
  errorMessage,
  errorName,
  exceptionText,
  leadsTo,
  stackText,
  toError,
  wholeMessage,
} from '../base/exception-text';
import { durationSeconds, momentOf, backoffDelay, NO_BACKOFF, type Delay } from '../job/duration';
import type { RunOptions } from '../job/options';
import type { JobRegistry } from '../job/registry';
import { askBackoff, declaredOptions, DEFAULT_MAX_CRASHES } from '../job/resolve-options';
import {
  afterFailedAttempt,
  afterFreeRelease,
  afterHeldCrash,
  afterTimedOut,
  type Counters,
} from '../payload/counters';
import { PayloadVersionError, UnknownAdapterError, UnknownClassError, UnknownKeyError } from '../payload/errors';
import type { Application } from '../connections/application';
import { givenBack } from '../connections/kit/connection';
import type { Settlement, FollowUp } from '../connections/contract';
import {
  JobCancelledError,
  JobTimedOutError,
  laravelJob,
  maxAttemptsExceeded,
  maxExceptionsExceeded,
  outcomeRefused,
  poisonJob,
  unknownJob,
} from './errors';
import type { RunningJob } from './running-job';
import { entryAt, type Onward } from '../connections/entries';
import type { FailedLink } from '../job/job-context';
import { chainedLink, glimpseCaught, withCause, type ChainLink } from '../payload/chain';
import { withBatch } from '../payload/payload-text';
import { laneOf, withTies } from '../payload/ties';
import { carrierText } from '../dispatch/built-in';
import { StartBatch } from '../dispatch/batch/send-batch';

/** How a run ended. */
export interface Outcome {
  readonly settlement: Settlement;
  /** Following jobs that the store cannot write together with the outcome: they are sent before it. */
  readonly onward?: readonly Onward[] | undefined;
  /** The error behind a failed attempt or a failed job. */
  readonly error?: Error | undefined;
  /** Why a job was given back for free, for the log. */
  readonly reason?: Error | undefined;
  /** The reason of the cancellation, if one was given. */
  readonly cancelReason?: string | undefined;
  /** The log has just said this about other jobs of this name. */
  readonly isKnown?: boolean | undefined;
}

/**
 * A run that has ended and waits to be settled.
 *
 * A class, not an object literal: V8 soon allocates literals that mostly survive directly in the old generation, where each
 * keeps its job alive until a full collection.
 */
export class Finished {
  readonly job: RunningJob;
  readonly outcome: Outcome;

  constructor(job: RunningJob, outcome: Outcome) {
    this.job = job;
    this.outcome = outcome;
  }
}

interface Identity {
  readonly name: string;
  readonly id: string;
}

export type OutcomeEnvironment = Pick<Application, 'clock' | 'random' | 'report'>;

/** Why a reserved job must not run at all. Undefined if it may. `last`: the error of its last attempt, if that is known. */
export function refusalOf(
  { name, id }: Identity,
  { attempts, crashes, exceptions, timeouts }: Counters,
  options: RunOptions,
  now: Milliseconds,
  last?: Error,
): Error | undefined {
  const { maxCrashes, maxExceptions, failOnTimeout, timeout } = options;
  if (maxCrashes > 0 && crashes >= maxCrashes) return poisonJob(name, id, crashes);
  // If a worker could not record the end of an attempt itself, the job was only released. Whether that attempt was the last
  // is found out here.
  if (failOnTimeout && timeouts > 0) return new JobTimedOutError(name, id, timeout);
  if (maxExceptions !== undefined && exceptions >= maxExceptions) {
    return maxExceptionsExceeded(name, id, exceptions, maxExceptions, last);
  }
  return isTooLate(attempts, options, now)
    ? maxAttemptsExceeded(name, id, attempts, options, timeouts, last)
    : undefined;
}

/** Whether the error before it belongs to the refusal: more often than not that is why there was another attempt. */
export const hasLastError = (refusal: Error, { exceptions }: Counters): boolean =>
  exceptions > 0 && (maxAttemptsExceeded.is(refusal) || maxExceptionsExceeded.is(refusal));

/** Whether this attempt may not start at this moment. */
function isTooLate(attempt: number, { tries, retryUntil }: RunOptions, at: Milliseconds): boolean {
  return retryUntil === undefined ? tries > 0 && attempt > tries : at > retryUntil;
}

/** Whether the job may not throw again. `counters` are those of the attempt that threw. */
export function isLastAttempt(counters: Counters, options: RunOptions, now: Milliseconds, timedOut: boolean): boolean {
  if (timedOut && options.failOnTimeout) return true;
  if (options.maxExceptions !== undefined && counters.exceptions + 1 >= options.maxExceptions) return true;
  if (options.retryUntil !== undefined) return now >= options.retryUntil;
  return options.tries > 0 && counters.attempts >= options.tries;
}

/** Whether a job is poison, whichever registered class it has. */
export function isPoisonForAll({ crashes }: Counters, registry: JobRegistry): boolean {
  if (crashes === 0) return false;
  const limits = crashLimits(registry);
  return !limits.includes(0) && crashes > Math.max(DEFAULT_MAX_CRASHES, ...limits);
}

/** Whether one more crash would make the job poison under the strictest limit of all registered jobs. */
export function mayBePoisonNext({ crashes }: Counters, registry: JobRegistry): boolean {
  const limits = crashLimits(registry).filter((limit) => limit > 0);
  return crashes + 1 >= Math.min(DEFAULT_MAX_CRASHES, ...limits);
}

function crashLimits(registry: JobRegistry): number[] {
  return registry.all().map((definition) => declaredOptions(definition).maxCrashes);
}

/** The outcome of a run that was started. */
export function outcomeOf(job: RunningJob, environment: OutcomeEnvironment): Outcome {
  const { reservation, ending, abortReason, thrown } = job;
  if (job.stray !== undefined) return attemptFailed(job, job.stray, environment);
  if (ending !== undefined) return ownOutcome(job, environment);
  if (abortReason !== undefined && thrown !== undefined && thrown !== abortReason)
    abortReason.cause ??= apartFrom(abortReason, thrown);
  if (abortReason instanceof JobTimedOutError) return attemptFailed(job, abortReason, environment);
  // A handler that returned by itself and never looked at its signal has done its work.
  if (abortReason !== undefined && (job.handler !== 'came-back' || thrown !== undefined || job.knowsItsSignal)) {
    if (abortReason instanceof JobCancelledError) return cancelled(job);
    return releasedForFree(job, 0, abortReason);
  }
  if (thrown !== undefined) return attemptFailed(job, thrown, environment);
  return { settlement: { outcome: 'completed', reservation } };
}

// An AbortError has the reason of its signal as its cause: whoever follows the causes must come to an end.
function apartFrom(reason: Error, thrown: Error): Error {
  if (!leadsTo(thrown, reason)) return thrown;
  return Object.assign(new Error(errorMessage(thrown)), { name: errorName(thrown), stack: stackText(thrown) });
}

/** The outcome of a cancelled job. */
export function cancelled({ reservation, abortReason }: RunningJob): Outcome {
  const told = typeof reservation.cancelled === 'string' ? reservation.cancelled : undefined;
  const cancelReason = abortReason instanceof JobCancelledError ? abortReason.reason : told;
  return { settlement: { outcome: 'cancelled', reservation }, cancelReason };
}

/** The outcome of a job that is out of tries, or must never run. */
export function failed(job: RunningJob, error: Error, counters: Counters = job.reservation.counters): Outcome {
  const failure = { id: job.id, name: job.name, exception: exceptionText(error) };
  return { settlement: { outcome: 'failed', reservation: job.reservation, counters, failure }, error };
}

/** Back to its place in the queue, without having run. */
export function unstarted({ reservation }: RunningJob, reason?: Error): Outcome {
  return { settlement: givenBack(reservation), reason };
}

/** The same after a crash that hit it while it was only held: that does not count. */
export function crashExcused({ reservation }: RunningJob): Outcome {
  const counters = afterHeldCrash(reservation.counters);
  return { settlement: { outcome: 'released', reservation, delay: 0, front: true, counters } };
}

/** Back to the queue, without costing a try. @param frees whether it may wait for long, and must keep away no other meanwhile */
export function releasedForFree({ reservation }: RunningJob, delay: Seconds, reason: Error, frees?: true): Outcome {
  const counters = afterFreeRelease(reservation.counters);
  return { settlement: { outcome: 'released', reservation, delay, counters, frees }, reason };
}

/** Whether the job has ended, and nobody can send it again. */
export function isOver({ settlement: { outcome } }: Outcome): boolean {
  return outcome === 'completed' || outcome === 'cancelled';
}

/** Whether the job was given back because this worker cannot run it, but one of another deploy or of Laravel may. */
export function isForOthers({ reason }: Outcome): boolean {
  return mayBeKnownElsewhere(reason) || laravelJob.is(reason) || unknownJob.is(reason);
}

/** Whether a worker with other classes or another configuration could read the payload. */
export function mayBeKnownElsewhere(error: unknown): error is Error {
  return [PayloadVersionError, UnknownClassError, UnknownAdapterError, UnknownKeyError].some(
    (kind) => error instanceof kind,
  );
}

/** Now, by the clock that judges moments. */
export function storeNow(job: RunningJob, { clock }: Pick<OutcomeEnvironment, 'clock'>): Milliseconds {
  return job.storeClock?.now() ?? clock.now();
}

type When = Pick<Extract<Settlement, { outcome: 'released' }>, 'delay' | 'dueAt'>;

/** @throws E_INVALID_DURATION */
function whenOf(delay: Delay, job: RunningJob, environment: OutcomeEnvironment, subject: string): When {
  if (!(delay instanceof Date)) return { delay: durationSeconds(delay, subject) };
  const dueAt = momentOf(delay, subject);
  return { delay: Math.max(0, (dueAt - storeNow(job, environment)) / 1000), dueAt };
}

function ownOutcome(job: RunningJob, environment: OutcomeEnvironment): Outcome {
  const { reservation, ending } = job;
  if (ending?.kind === 'failed') return failed(job, ending.error);
  if (ending?.kind === 'released') {
    const { isDeferred } = ending;
    const subject = `the delay of ${isDeferred ? 'defer' : 'release'}() in ${job.name}`;
    const when = whenOf(ending.delay, job, environment, subject);
    // A job that middleware or a hook puts off before its handler ran has not been tried.
    const isFree = isDeferred || !job.isHandled;
    const counters = isFree ? afterFreeRelease(reservation.counters) : reservation.counters;
    // A connection that runs jobs at once says itself that a release does nothing there.
    const refusal = job.isAtOnce ? undefined : refusalOfNext(job, counters, when, environment);
    if (refusal !== undefined) return failed(job, refusal, counters);
    return { settlement: { outcome: 'released', reservation, ...when, counters } };
  }
  return { settlement: { outcome: 'completed', reservation } };
}

function attemptFailed(job: RunningJob, error: Error, environment: OutcomeEnvironment): Outcome {
  const { reservation } = job;
  const timedOut = error instanceof JobTimedOutError;
  const counters = timedOut ? afterTimedOut(reservation.counters) : afterFailedAttempt(reservation.counters);
  if (isLastAttempt(reservation.counters, job.options!, storeNow(job, environment), timedOut)) {
    return failed(job, error, counters);
  }
  const when = nextTry(job, error, counters.exceptions, environment);
  // A job that would only come back to be refused fails now, with the error that it has.
  if (refusalOfNext(job, counters, when, environment) !== undefined) return failed(job, error, counters);
  return { settlement: { outcome: 'released', reservation, ...when, counters }, error };
}

/** Why the next attempt could not start. Undefined if it can. */
function refusalOfNext(
  job: RunningJob,
  { attempts, timeouts }: Counters,
  { delay, dueAt }: When,
  environment: OutcomeEnvironment,
): Error | undefined {
  const { name, id, thrown } = job;
  const options = job.options!;
  const next = attempts + 1;
  const at = dueAt ?? storeNow(job, environment) + delay * 1000;
  return isTooLate(next, options, at) ? maxAttemptsExceeded(name, id, next, options, timeouts, thrown) : undefined;
}

/**
 * Seconds until the attempt that follows a timeout `within` milliseconds from now, in case the lease thread has to record
 * it. `backoff()` is called before the handler starts, because a blocked event loop cannot call it.
 */
export function foreseenDelay(job: RunningJob, within: Milliseconds, environment: OutcomeEnvironment): Seconds {
  const { instance, name, id, options, reservation } = job;
  const { backoff } = options!;
  const failures = reservation.counters.exceptions + 1;
  if (instance === undefined || !('backoff' in instance))
    return backoff === NO_BACKOFF ? 0 : backoffDelay(backoff, failures, environment.random);
  attachContext(instance, job);
  const timedOut = new JobTimedOutError(name, id, options!.timeout);
  // A mistake in backoff() is reported when an attempt has failed.
  const { delay, dueAt } = nextTry(job, timedOut, failures, { ...environment, report: () => undefined });
  return dueAt === undefined ? delay : Math.max(0, delay - within / 1000);
}

// Counts failures, not attempts: a release that the job asked for must not move it on in its list of delays.
function nextTry(job: RunningJob, error: Error, failures: number, environment: OutcomeEnvironment): When {
  let { backoff } = job.options!;
  try {
    const own = job.instance && askBackoff(job.instance, job.name, error);
    if (own instanceof Date) return whenOf(own, job, environment, `${job.name}.backoff()`);
    backoff = own ?? backoff;
  } catch (thrown) {
    // A mistake in backoff() must not cost the job its tries, nor hide the error that it was asked about.
    environment.report(thrown, { job, during: `backoff() of ${job.name}` });
  }
  return { delay: backoffDelay(backoff, failures, environment.random) };
}

/**
 * The jobs that follow an outcome: the next link of a chain, or the job to send when one has failed.
 *
 * Where the store can, it writes them together with the outcome, so that neither exists without the other. What that step
 * cannot reach (another connection, another slot of a cluster) travels in a carrier: a job that is written with the outcome
 * and sends the other job on. If a store cannot write anything with an outcome, both are sent before the outcome is written.
 *
 * Nothing here checks that the other connection is known or answers: a job that has succeeded must not fail because of that.
 */

export type Following = Pick<Application, 'registry' | 'driver' | 'clock'>;

/**
 * The outcome, with the jobs that follow it. Never throws: a success whose followers cannot be sent becomes a failure, and
 * its retry continues the chain.
 */
export function followed(outcome: Outcome, job: RunningJob, application: Following): Outcome {
  const { settlement } = outcome;
  // The usual case: nothing follows, and nothing is allocated.
  if (settlement.outcome === 'completed' && job.links.length === 0 && job.tie === undefined) return outcome;
  try {
    return withFollowUps(outcome, job, application);
  } catch (error) {
    return settlement.outcome === 'failed' ? outcome : failed(job, toError(error));
  }
}

/** @throws E_MANAGER_CLOSED */
function withFollowUps(outcome: Outcome, job: RunningJob, application: Following): Outcome {
  const next = nextOf(outcome, job);
  if (job.tie === undefined) return withReached(next, outcome, job, application);
  const { settlement } = outcome;
  if (settlement.outcome === 'completed') {
    // The next link and added jobs join the batch before this job leaves it; they are in its store.
    const members = [...(next === undefined ? [] : [joined(next, job)]), ...job.added];
    return members.length === 0 ? outcome : withNext(members, outcome, job, application);
  }
  if (settlement.outcome !== 'failed') return outcome;
  const told = { ...outcome, settlement: { ...settlement, cause: causeOf(outcome, job) } };
  return withReached(next, told, job, application);
}

/** The outcome with its follower, in a carrier if the step that writes the outcome does not reach the follower's queue. */
function withReached(next: Onward | undefined, outcome: Outcome, job: RunningJob, application: Following): Outcome {
  if (next === undefined) return outcome;
  const { capabilities } = application.driver(job.connectionName);
  const goesAlong = capabilities.follows !== 'queue' || next.queue === job.queue;
  const isReached = next.connection === job.connectionName && goesAlong;
  // On a connection that runs jobs at once, there is no queue for a carrier to wait in.
  const isSent = isReached || !capabilities.reserve;
  return withNext([isSent ? next : carrierOf(next, job, application)], outcome, job, application);
}

function joined(next: Onward, job: RunningJob): Onward {
  const ties = { ...next.entry.ties, batch: { id: job.tie!.id, weight: job.links.length } };
  const jobs = job.envelope?.batchJobs;
  const payload = jobs === undefined ? next.entry.payload : withBatch(next.entry.payload, { jobs });
  return { ...next, entry: { ...next.entry, payload: withTies(payload, ties), ties } };
}

/** Characters kept of an exception that may be what the store refuses: too long, or in characters that it does not have. */
const SHORT = 500;

/** The outcome of a job whose own outcome the store refuses: it fails, with short plain texts. */
export function refusedOutcome(refused: Outcome, job: RunningJob, refusal: unknown, application: Following): Outcome {
  const { settlement } = refused;
  const isFailed = settlement.outcome === 'failed';
  const error = isFailed
    ? refused.error!
    : outcomeRefused(job.name, job.id, settlement.outcome === 'released' ? 'released' : 'completed', refusal);
  const counters = 'counters' in settlement ? settlement.counters : job.reservation.counters;
  const outcome = followed(failed(job, error, counters), job, application);
  if (outcome.settlement.outcome !== 'failed') return outcome;
  const { failure } = outcome.settlement;
  const short = { ...failure, name: plain(failure.name), exception: plain(failure.exception) };
  return { ...outcome, settlement: { ...outcome.settlement, failure: short } };
}

const plain = (text: string): string => text.slice(0, SHORT).replaceAll(/[^\n -~]/gu, '?');

function withNext(next: readonly Onward[], outcome: Outcome, job: RunningJob, application: Following): Outcome {
  const { capabilities } = application.driver(job.connectionName);
  if (capabilities.follows === undefined || capabilities.follows === false) return { ...outcome, onward: next };
  const now = storeNow(job, application);
  const followUps = next.map((one) => followUpOf(one, now, capabilities.moments === true));
  return { ...outcome, settlement: { ...outcome.settlement, next: followUps } as Settlement };
}

function nextOf(outcome: Outcome, job: RunningJob): Onward | undefined {
  const { settlement } = outcome;
  if (settlement.outcome === 'completed') {
    // What follows a batch is sent by the batch.
    if (job.links.length === 0 || job.definition?.target === StartBatch) return undefined;
    const link = chainedLink({ links: job.links, caught: job.envelope?.chain.caught }, job.connectionName);
    return onwardOf(link, job, link.payload);
  }
  if (settlement.outcome !== 'failed') return undefined;
  // Poison is never parsed, and a broken text cannot be.
  const caught = job.envelope === undefined ? glimpseCaught(job.reservation.payload) : job.envelope.chain.caught;
  return caught && onwardOf(caught, job, withCause(caught.payload, causeOf(outcome, job)));
}

const causeOf = ({ error }: Outcome, { id, name }: RunningJob): FailedLink => ({
  id,
  name,
  message: wholeMessage(toError(error)),
});

function onwardOf(link: ChainLink, job: RunningJob, payload: string): Onward {
  const { connection = job.connectionName, queue, delay, dueAt, retryWithin } = link;
  const lane = laneOf(payload);
  return { connection, queue, entry: { payload, delay, dueAt, ties: lane && { lane } }, retryWithin };
}

function followUpOf(next: Onward, now: Milliseconds, judges: boolean): FollowUp {
  const { queue, entry, retryWithin } = next;
  const asks = retryWithin !== undefined || (entry.dueAt !== undefined && !judges);
  return { queue, entry: asks ? entryAt(next, now, judges) : entry };
}

function carrierOf(next: Onward, { connectionName, queue }: RunningJob, { registry }: Following): Onward {
  return { connection: connectionName, queue, entry: { payload: carrierText(next, registry) } };
}

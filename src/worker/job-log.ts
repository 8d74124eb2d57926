/** The log lines of a worker: one for each run, none of which holds the job's data. */
import { sentence } from '../base/plain-text';
import { causeOf, errorMessage } from '../base/exception-text';
import { errorRecord } from '../base/error-record';
import { type Logger, wants } from '../base/logger';
import type { Seconds } from '../base/clock';
import type { SetAside } from '../connections/contract';
import { WorkerStoppingError } from './errors';
import type { RunningJob } from './running-job';
import type { Finished } from './runs';

/** Beside thousands of jobs in a second: only where somebody asks for it. */
export function logStart(logger: Logger, { name, id, connectionName, queue, attempts }: RunningJob): void {
  if (!wants(logger, 'debug')) return;
  logger.debug({ job: name, id, connection: connectionName, queue, attempts }, `${name} starts`);
}

export function logOutcome(logger: Logger, { job, outcome, took }: Finished): void {
  const { settlement, error, reason } = outcome;
  const isGood = (error ?? reason) === undefined;
  if (isGood && !wants(logger, 'info')) return;
  const facts = {
    job: job.name,
    id: job.id,
    connection: job.connectionName,
    queue: job.queue,
    attempts: job.attempts,
    outcome: settlement.outcome,
    ms: Math.round(took),
  };
  const why = error ?? reason;
  if (settlement.outcome === 'cancelled') {
    const { cancelReason } = outcome;
    if (cancelReason === undefined) return logger.info(facts, `${job.name} was cancelled`);
    return logger.info({ ...facts, reason: cancelReason }, `${job.name} was cancelled: ${cancelReason}`);
  }
  if (settlement.outcome === 'completed') return logger.info(facts, `${job.name} completed`);
  const told = why && messageOf(why);
  if (settlement.outcome === 'failed') {
    logger.error({ ...facts, error: told, err: error && errorRecord(error) }, `${job.name} failed: ${told}`);
  } else if (told === undefined) logger.info({ ...facts, delay: settlement.delay }, `${job.name} released`);
  else if (reason instanceof WorkerStoppingError) {
    logger.warn({ ...facts, delay: settlement.delay, error: told }, atStop(job, reason));
  } else {
    const next = settlement.delay === 0 ? 'at once' : `in ${Math.round(settlement.delay * 1000) / 1000} s`;
    const err = error && errorRecord(error);
    logger[outcome.isKnown === true ? 'debug' : 'warn'](
      { ...facts, delay: settlement.delay, error: told, err },
      `${job.name} released, next try ${next}: ${told}`,
    );
  }
}

// All there is to say of it: the process ends, and with it a handler that has not come back.
function atStop({ name, handler }: RunningJob, reason: Error): string {
  const cause = causeOf(reason);
  const end =
    handler === 'running'
      ? 'its handle() has not come back within the grace. Let it stop when this.signal aborts.'
      : `it was not done within the grace.${cause === undefined ? '' : ` Cause: ${errorMessage(cause)}`}`;
  return `${name} goes back to its queue at no cost in tries, because the worker stops: ${end}`;
}

// Of a run that was aborted, what its handler threw in the end is the cause.
function messageOf(error: Error): string {
  const cause = causeOf(error);
  return cause !== undefined ? `${sentence(errorMessage(error))} Cause: ${errorMessage(cause)}` : errorMessage(error);
}

export function logLost(logger: Logger, { job, outcome, took }: Finished): void {
  logger.warn(
    { job: job.name, id: job.id, queue: job.queue, attempts: job.attempts, outcome: 'lost', ms: Math.round(took) },
    `${job.name} was lost: its lease had ended and someone else has it, or it is gone from the store; its outcome (${outcome.settlement.outcome}) was refused`,
  );
}

/** The store refused what the job ended with, and takes it in another form. */
export function logRefused(logger: Logger, one: Finished, refusal: unknown, instead: 'kept' | 'buried'): void {
  const { name, id } = one.job;
  const { outcome } = one.outcome.settlement;
  const short = outcome === 'failed' ? 'kept as failed with its error cut short' : 'kept as failed';
  const form = instead === 'buried' ? 'buried where it is' : short;
  const message = `The store refused that ${name} ${id} ${ENDS[outcome]}: it was ${form}. ${wordsOf(refusal)}`;
  logger.error(factsOfRefusal(one, refusal), message);
}

export function logHeld(logger: Logger, one: Finished, refusal: unknown): void {
  const { name, id } = one.job;
  const { outcome } = one.outcome.settlement;
  logger.error(
    factsOfRefusal(one, refusal),
    `The store refuses that ${name} ${id} ${ENDS[outcome]}. Other jobs go on; this one stays reserved here, and its outcome is ` +
      `offered again once a minute. When this worker ends before it is taken, the job runs again. ${wordsOf(refusal)}`,
  );
}

export function logLetGo(logger: Logger, { job: { name, id, queue } }: Finished, most: number): void {
  logger.error(
    { job: name, id, queue },
    `The outcome of ${name} ${id} is offered no longer, as the store refuses more than ${most}: it runs again when its lease ends.`,
  );
}

const ENDS = {
  completed: 'be removed as completed',
  cancelled: 'be removed as cancelled',
  released: 'go back to its queue',
  failed: 'be kept as failed',
} as const;

const wordsOf = (refusal: unknown): string => errorMessage(refusal);

function factsOfRefusal({ job, outcome: { settlement } }: Finished, refusal: unknown): object {
  const { name, id, queue, attempts, connectionName: connection } = job;
  const { code } = (refusal ?? {}) as { readonly code?: unknown };
  const error = wordsOf(refusal);
  return { job: name, id, connection, queue, attempts, outcome: settlement.outcome, code, error };
}

/** Who it was is known to the supervisor of that process, whose line names the job as well. */
export function logRecovered(logger: Logger, job: RunningJob, silence: Seconds): void {
  const { name, id, connectionName, queue, fence, reservation } = job;
  const { crashes } = reservation.counters;
  logger.warn(
    { job: name, id, connection: connectionName, queue, crashes, fence, silence },
    `${name} ${id} is taken over: its worker died, or was silent for ${silence} s or longer. Crashes so far: ${crashes}.`,
  );
}

export function logApart(logger: Logger, { name, id, queue, reservation }: RunningJob): void {
  const { crashes } = reservation.counters;
  logger.warn(
    { job: name, id, queue, crashes },
    `${name} ${id} runs apart from all others: ${crashes} workers died or froze while they ran it.`,
  );
}

export function logStubborn(logger: Logger, { name, id, queue }: RunningJob): void {
  logger.warn(
    { job: name, id, queue },
    `${name} ${id} was given up, but its handle() has not come back: it keeps its slot until it does. Let it stop when this.signal aborts.`,
  );
}

/** Jobs that are named. */
const NAMED = 10;

export interface Holder {
  readonly job: RunningJob;
  /** Since it began. */
  readonly seconds: number;
}

/** All slots of a worker are held by handlers that were given up. */
export function logStuck(logger: Logger, holders: readonly Holder[], endsProcess: boolean): void {
  const names = holders.slice(0, NAMED).map(({ job, seconds }) => `${job.name} ${job.id} (${seconds} s)`);
  if (holders.length > NAMED) names.push(`${holders.length - NAMED} more`);
  const facts = holders.map(({ job: { name, id, queue }, seconds }) => ({ job: name, id, queue, seconds }));
  const end = endsProcess
    ? 'The process ends, and with it what they still do.'
    : 'The worker takes no more jobs until one of them does: start its process anew.';
  logger.error(
    { slots: holders.length, jobs: facts },
    `Each slot of the worker is held by a job that was given up and whose handle() has not come back: ${names.join(', ')}. ` +
      `${end} Let them stop when this.signal aborts.`,
  );
}

export function logSetAside(logger: Logger, { queue, id, reason }: SetAside): void {
  logger.error(
    { queue, id, outcome: 'failed' },
    `A payload on ${queue} was moved to the failed jobs unread: ${reason}`,
  );
}

export interface Unsettled {
  readonly connection: string;
  /** Runs without an outcome. */
  readonly open: number;
  /** Those with one. */
  readonly ended: number;
  /** Why theirs were not stored. */
  readonly why: string;
}

export function logUnsettled(logger: Logger, { connection, open, ended, why }: Unsettled): void {
  const jobs = open + ended;
  const running = open === 0 ? [] : [`${open} had not ended`];
  const unstored = ended === 0 ? [] : [`${ended} had ended, but their outcomes were not stored (${why})`];
  logger.error(
    { jobs, connection },
    `The worker stopped without having settled ${jobs} jobs: ${[...running, ...unstored].join('; ')}. They run again when their leases end.`,
  );
}

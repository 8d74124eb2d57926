/** The log lines of a worker. None of them holds a job's data. */
import type { Milliseconds, Seconds } from '../base/clock';
import { errorRecord, causeOf, errorMessage, wholeMessage } from '../base/exception-text';
import type { Logger } from '../base/logger';
import { spanText } from '../base/span';
import type { SetAside } from '../connections/contract';
import { WorkerStoppingError } from './errors';
import type { Finished } from './outcome';
import type { RunningJob } from './running-job';

/** The facts that every line about a job has. */
function factsOf({ name, id, connectionName, queue, attempts }: RunningJob): object {
  return { job: name, id, connection: connectionName, queue, attempts };
}

export function logStart(logger: Logger, job: RunningJob): void {
  logger.debug(factsOf(job), `${job.name} starts`);
}

export function logOutcome(logger: Logger, { job, outcome }: Finished): void {
  const { settlement, error, reason, cancelReason } = outcome;
  const { name } = job;
  const why = error ?? reason;
  const ended = settlement.outcome;
  const facts = { ...factsOf(job), outcome: ended, ms: Math.round(job.took) };
  if (ended === 'completed') {
    // Middleware that forgets to call next() would look like work that was done.
    const skipped = job.isHandled ? '' : ' without handle(): its middleware or a hook ended it before';
    return logger.info(facts, `${name} completed${skipped}`);
  }
  if (ended === 'cancelled') {
    if (cancelReason === undefined) return logger.info(facts, `${name} was cancelled`);
    return logger.info({ ...facts, reason: cancelReason }, `${name} was cancelled: ${cancelReason}`);
  }
  const told = why && wholeMessage(why);
  const err = error && errorRecord(error);
  if (ended === 'failed') return logger.error({ ...facts, error: told, err }, `${name} failed: ${told}`);
  const { delay } = settlement;
  if (told === undefined) {
    // A job that waits for a limit may come back again and again.
    const isFree = settlement.counters.releases > job.reservation.counters.releases;
    return logger[isFree ? 'debug' : 'info']({ ...facts, delay }, `${name} released`);
  }
  if (reason instanceof WorkerStoppingError) {
    return logger.warn({ ...facts, delay, error: told }, atStop(job, reason));
  }
  const next = delay === 0 ? 'at once' : `in ${spanText(delay * 1000)}`;
  const level = outcome.isKnown === true ? 'debug' : 'warn';
  return logger[level]({ ...facts, delay, error: told, err }, `${name} released, next try ${next}: ${told}`);
}

// This line has to say everything: the process ends, and with it a handler that has not returned.
function atStop({ name, handler }: RunningJob, reason: Error): string {
  const cause = causeOf(reason);
  const end =
    handler === 'running'
      ? 'its handle() has not returned within the grace. Let it stop when this.signal aborts.'
      : `it was not done within the grace.${cause === undefined ? '' : ` Cause: ${errorMessage(cause)}`}`;
  return `${name} goes back to its queue at no cost in tries, because the worker stops: ${end}`;
}

export function logLost(logger: Logger, { job, outcome }: Finished): void {
  logger.warn(
    { ...factsOf(job), outcome: 'lost', ms: Math.round(job.took) },
    `${job.name} was lost: its lease had ended and someone else has it, or it is gone from the store; its outcome (${outcome.settlement.outcome}) was refused`,
  );
}

/** @param instead what happened in place of what the store refused */
export function logRefused(
  logger: Logger,
  { job, outcome: { settlement } }: Finished,
  refusal: unknown,
  instead: 'failed' | 'buried' | 'left',
): void {
  const { name, id } = job;
  const { outcome } = settlement;
  const asked = {
    completed: `remove ${name} ${id} as completed`,
    cancelled: `remove ${name} ${id} as cancelled`,
    released: `return ${name} ${id} to its queue`,
    failed: `keep ${name} ${id} as failed`,
  }[outcome];
  const kept = outcome === 'failed' ? 'was kept as failed with its error cut short' : 'was kept as failed';
  const end = { failed: kept, buried: 'was buried where it is', left: 'runs again when its lease ends' }[instead];
  const { code } = (refusal ?? {}) as { readonly code?: unknown };
  logger.error(
    { ...factsOf(job), outcome, code, error: errorMessage(refusal) },
    `The store refused to ${asked}: it ${end}. ${errorMessage(refusal)}`,
  );
}

/** The supervisor of the dead process knows which one it was; its line names the job as well. */
export function logRecovered(logger: Logger, job: RunningJob, silence: Seconds): void {
  const { crashes } = job.reservation.counters;
  logger.warn(
    { ...factsOf(job), crashes, fence: job.fence, silence },
    `${job.name} ${job.id} is taken over: its worker died, or was silent for ${silence} s or longer. Crashes so far: ${crashes}.`,
  );
}

export function logCrashExcused(logger: Logger, job: RunningJob): void {
  logger.warn(
    factsOf(job),
    `${job.name} ${job.id} was to run alone, and had not started when its worker died or froze. That crash does not count, and the job is taken again.`,
  );
}

export function logApart(logger: Logger, job: RunningJob): void {
  const { crashes } = job.reservation.counters;
  logger.warn(
    { ...factsOf(job), crashes },
    `${job.name} ${job.id} runs apart from all others: ${crashes} workers died or froze while they ran it.`,
  );
}

/** @param neighbours how many jobs run beside it */
export function logWaitsAlone(logger: Logger, job: RunningJob, neighbours: number, patience: Seconds): void {
  const { crashes } = job.reservation.counters;
  logger.warn(
    { ...factsOf(job), crashes, neighbours },
    `${job.name} ${job.id} waits to run alone, because its next crash would be its last (crashes so far: ${crashes}). The worker takes no job until ` +
      `those that run here have ended, for ${patience} s at most. They are: ${neighbours}.`,
  );
}

export function logBeside(logger: Logger, job: RunningJob, neighbours: number): void {
  const { crashes } = job.reservation.counters;
  logger.warn(
    { ...factsOf(job), crashes, neighbours },
    `${job.name} ${job.id} runs beside ${neighbours === 1 ? 'another job' : `${neighbours} others`}, although its next crash would be its last (crashes so far: ${crashes}): ` +
      'it could not run alone, because twice the jobs of its worker did not end in time.',
  );
}

export function logStubborn(logger: Logger, job: RunningJob): void {
  logger.warn(
    factsOf(job),
    `${job.name} ${job.id} was given up, but its handle() has not returned: it keeps its slot until it does. Let it stop when this.signal aborts.`,
  );
}

/** At most this many jobs are named. */
const NAMED = 10;

/** All slots of a worker are held by handlers that were given up. `runs`: how long each has run. */
export function logStuck(logger: Logger, runs: ReadonlyMap<RunningJob, Milliseconds>, endsProcess: boolean): void {
  const jobs = Array.from(runs, ([{ name, id, queue }, ran]) => {
    return { job: name, id, queue, seconds: Math.round(ran / 1000) };
  });
  const names = jobs.slice(0, NAMED).map(({ job, id, seconds }) => `${job} ${id} (${seconds} s)`);
  if (jobs.length > NAMED) names.push(`${jobs.length - NAMED} more`);
  const end = endsProcess
    ? 'The process ends, and with it what they still do.'
    : 'The worker takes no more jobs until one of them does: restart its process.';
  logger.error(
    { slots: jobs.length, jobs },
    `Each slot of the worker is held by a job that was given up and whose handle() has not returned: ${names.join(', ')}. ` +
      `${end} Let them stop when this.signal aborts.`,
  );
}

export function logSetAside(logger: Logger, { queue, id, reason }: SetAside): void {
  logger.error(
    { queue, id, outcome: 'failed' },
    `A payload on ${queue} was moved to the failed jobs unread: ${reason}`,
  );
}

/**
 * @param open runs without an outcome
 * @param ended runs whose outcome is not stored
 * @param why the reason it is not stored
 */
export function logUnsettled(logger: Logger, connection: string, open: number, ended: number, why: string): void {
  const jobs = open + ended;
  const running = open === 0 ? [] : [`${open} had not ended`];
  const unstored = ended === 0 ? [] : [`${ended} had ended, but their outcomes were not stored (${why})`];
  logger.error(
    { jobs, connection },
    `The worker stopped without settling ${jobs} jobs: ${[...running, ...unstored].join('; ')}. They run again when their leases end.`,
  );
}

/** The log lines of a worker: one for each run, none of which holds the job's data. */
import type { Logger } from '../logger/logger';
import type { SetAside } from '../queue/connection';
import type { Finished } from './settler';

export function logOutcome(logger: Logger, { job, outcome, took }: Finished): void {
  const { settlement, error, notRun } = outcome;
  const facts = {
    job: job.name,
    id: job.id,
    connection: job.connectionName,
    queue: job.queue,
    attempts: job.attempts,
    outcome: settlement.outcome,
    ms: Math.round(took),
  };
  const told = error ?? notRun;
  if (settlement.outcome === 'completed') logger.info(facts, `${job.name} completed`);
  else if (settlement.outcome === 'failed') {
    logger.error({ ...facts, error: told?.message }, `${job.name} failed: ${told?.message ?? 'no reason given'}`);
  } else if (told === undefined) logger.info({ ...facts, delay: settlement.delay }, `${job.name} released`);
  else {
    logger.warn(
      { ...facts, delay: settlement.delay, error: told.message },
      `${job.name} released, next try in ${Math.round(settlement.delay * 1000) / 1000} s: ${told.message}`,
    );
  }
}

export function logLost(logger: Logger, { job, outcome, took }: Finished): void {
  logger.warn(
    { job: job.name, id: job.id, queue: job.queue, attempts: job.attempts, outcome: 'lost', ms: Math.round(took) },
    `${job.name} was lost: its lease had ended and someone else has it, so its outcome (${outcome.settlement.outcome}) was refused`,
  );
}

export function logSetAside(logger: Logger, { queue, id, reason }: SetAside): void {
  logger.error(
    { queue, id, outcome: 'failed' },
    `A payload on ${queue} was moved to the failed jobs unread: ${reason}`,
  );
}

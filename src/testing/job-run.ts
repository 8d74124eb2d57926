/** The outcome of one run, for tests. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Settlement } from '../connections/contract';
import { subjectOf } from '../job/declare';
import type { JobContext } from '../job/job-context';
import { NO_CHAIN, type ChainLink } from '../payload/chain';
import type { Outcome, RunningJob } from '../worker/running-job';
import { resolveWorkerOptions, type WorkerOptions } from '../worker/worker-options';
import type { ExecutorSettings } from '../worker/run';
import { batchedJob, type BatchedJob } from './batch-log';
import { ReadPush, type NextJob } from './push';

export interface JobRun {
  /**
   * `cancelled`: by `Queue.cancel(id)`. `lost`: its queue was cleared or its lease ended while it ran, so its outcome was
   * refused.
   */
  readonly outcome: 'completed' | 'released' | 'failed' | 'cancelled' | 'lost';
  readonly name: string;
  readonly id: string;
  readonly connection: string;
  readonly queue: string;
  /** 1 in the first run. */
  readonly attempts: number;
  /** The instance that ran, as `handle` left it. Undefined if none was made. */
  readonly job: object | undefined;
  /** The result of `handle`. */
  readonly value: unknown;
  /** For a released job: seconds until it is ready again. */
  readonly delay: Seconds | undefined;
  /** The error of a failed attempt or job, or the reason why a job was released without being run. */
  readonly error: Error | undefined;
  /**
   * The jobs that follow: for a completed job, the rest of its chain, whose first job is sent; for a failed one, the `catch()`
   * job.
   */
  readonly next: readonly NextJob[];
  /** The jobs that a completed job has added to its batch by `this.job.batch.add()`, each with the chain behind it. */
  readonly added: readonly BatchedJob[];
}

/** A worker's flags, for jobs that say nothing themselves. */
export type WorkerFlags = Pick<WorkerOptions, 'tries' | 'backoff' | 'timeout'>;

/** @throws E_INVALID_WORKER_OPTION, E_INVALID_DURATION */
export function executorSettings({ tries, backoff, timeout }: WorkerFlags): ExecutorSettings {
  const { defaults, grace } = resolveWorkerOptions({ tries, backoff, timeout });
  return { defaults, grace };
}

export function jobRun(job: RunningJob, { settlement, error, reason }: Outcome, now: Milliseconds): JobRun {
  const { id, name, queue, attempts }: JobContext = job;
  return {
    outcome: settlement.outcome,
    name,
    id,
    connection: job.connectionName,
    queue,
    attempts,
    job: job.instance && subjectOf(job.instance),
    value: job.value,
    delay: settlement.outcome === 'released' ? settlement.delay : undefined,
    error: error ?? reason,
    next: linksBehind(job, settlement.outcome).map((link) => ReadPush.ofLink(link, job.connectionName, now).next),
    added: settlement.outcome === 'completed' ? addedBy(job, now) : [],
  };
}

function addedBy({ added }: RunningJob, now: Milliseconds): readonly BatchedJob[] {
  return added.map(({ connection, queue, entry }) => batchedJob(new ReadPush(connection, queue, entry, now)));
}

function linksBehind({ links, envelope }: RunningJob, outcome: Settlement['outcome']): readonly ChainLink[] {
  const { caught } = envelope?.chain ?? NO_CHAIN;
  if (outcome === 'completed') return links;
  return outcome === 'failed' && caught !== undefined ? [caught] : [];
}

/** The attributes and metrics of Onqueue's telemetry: those of OpenTelemetry's conventions for messaging, and a few of our own. */
import type { DispatchingJob, JobContext } from '../index';

export const SYSTEM = 'onqueue';

const JOB_NAME = 'onqueue.job.name';
export const ATTEMPTS = 'onqueue.job.attempts';
/** How many workers have died with this job so far. Only if any. */
export const CRASHES = 'onqueue.job.crashes';
export const OUTCOME = 'onqueue.outcome';
export const ERROR_TYPE = 'error.type';

export const DURATION = 'messaging.process.duration';
export const SENT = 'messaging.client.sent.messages';

/** Of what metrics may have: no ids, which would make a series of each job. */
export const labelsOf = (job: DispatchingJob | JobContext, operation: 'send' | 'process') => ({
  'messaging.system': SYSTEM,
  'messaging.operation.name': operation,
  'messaging.destination.name': job.queue,
  'onqueue.connection': job.connectionName,
  [JOB_NAME]: job.name,
});

export const attributesOf = (job: DispatchingJob | JobContext, operation: 'send' | 'process') => ({
  ...labelsOf(job, operation),
  'messaging.operation.type': operation,
  'messaging.message.id': job.id,
});

/** The code of an error, or the name of its class. */
export function errorType(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' ? code : error.constructor.name;
}

/** Errors of looking at jobs. */
import { defineError, errorClass } from '../base/onqueue-error';
import { valueText } from '../base/text';

/** Neither the connection nor the one configured for its records keeps records. `job`: the class of the job that needs them. */
export const noRecords = defineError('E_NO_RECORDS', (connection: string, job?: string) => ({
  message:
    `Connection '${connection}' keeps no records${job === undefined ? '' : `, which ${job} needs`}. Name one that does, with driver \`redis\` or \`database\`, as ` +
    '`operations` in the configuration.',
  facts: { connection, ...(job !== undefined && { job }) },
}));

/** `remedy`: a sentence. `what`: what is listed. */
export const invalidListing = defineError(
  'E_INVALID_LISTING',
  (option: string, value: unknown, remedy: string, what: 'Jobs' | 'Batches' = 'Jobs') => ({
    message: `${what} cannot be listed with ${option} ${valueText(value)}. ${remedy}`,
    facts: { option, value },
  }),
);

/** What `Queue.events` was to listen for is not valid. `expected`: what to give. */
export const invalidEventFilter = defineError(
  'E_INVALID_EVENT_FILTER',
  (option: string, given: unknown, expected: string) => ({
    message: `Queue.events({ ${option}: ${valueText(given)} }): give ${expected}.`,
    facts: { option, given },
  }),
);

/** A limit of `Queue.monitor` is not valid. */
export const invalidMonitor = defineError('E_INVALID_MONITOR', (path: string, problem: string, value: unknown) => ({
  message: `Queue.monitor(): ${path === '' ? 'it' : path} ${problem}. Write Queue.monitor({ mail: { size: 1000, wait: '5m' } }).`,
  facts: { path, value },
}));

/** Figures were requested for a span over which they are not kept. */
export const invalidSpan = defineError('E_INVALID_SPAN', (within: unknown, until?: Date) => ({
  message:
    `figures({ within: ${valueText(within)}${until === undefined ? '' : `, until: ${valueText(until)}`} }): figures are kept for ` +
    "30 days. Give more than 0 and '30d' at most, from now on.",
  facts: { within, until },
}));

/** The job whose result was awaited has failed. */
export class JobFailedError extends errorClass(
  'E_JOB_FAILED',
  (job: string, id: string, { name, message }: { readonly name: string; readonly message: string }) => ({
    message: `${job} ${id} has failed: ${name}: ${message}`,
    facts: { job, id, name, message },
  }),
) {}

/** The job whose result was awaited was cancelled. */
export const endedCancelled = defineError('E_JOB_ENDED_CANCELLED', (job: string, id: string, reason?: string) => ({
  message: `${job} ${id} was cancelled${reason === undefined ? '' : ` (${reason})`}: there is no result.`,
  facts: { job, id, reason },
}));

/** The job has completed, but its result could not be kept. */
export const resultNotKept = defineError('E_RESULT_NOT_KEPT', (job: string, id: string, reason: string) => ({
  message: `${job} ${id} has completed, but its result could not be kept: ${reason}`,
  facts: { job, id, reason },
}));

const STILL: Readonly<Record<string, string>> = {
  ready: 'is ready and waits for a worker',
  delayed: 'is delayed and not yet ready',
  running: 'is still running',
};

/** `state`: as far as it is known. */
export const resultPending = defineError(
  'E_RESULT_PENDING',
  (id: string, connection: string, state: string, within: number) => ({
    message:
      STILL[state] === undefined
        ? `It is not known whether the job ${id} has ended after ${within} s: '${connection}' did not search all its jobs. Name its queue, or ask again.`
        : `The job ${id} ${STILL[state]} after ${within} s. Ask again, or wait longer: { within: '5m' }.`,
    facts: { id, connection, state, within },
  }),
);

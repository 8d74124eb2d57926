/** What can go wrong with looking at jobs. */
import { defineError, errorClass } from '../base/define-error';
import { valueText } from '../base/value-text';

/** Neither the connection nor one that is named in its place keeps records. */
export const noRecords = defineError('E_NO_RECORDS', (connection: string) => ({
  message:
    `Connection '${connection}' keeps no records. Name one that does, of driver \`redis\` or \`database\`, as ` +
    '`operations` in the configuration.',
  facts: { connection },
}));

/** `remedy`: as a sentence. `what`: what is listed. */
export const invalidListing = defineError(
  'E_INVALID_LISTING',
  (option: string, value: unknown, remedy: string, what: 'Jobs' | 'Batches' = 'Jobs') => ({
    message: `${what} cannot be listed by ${option} ${valueText(value)}. ${remedy}`,
    facts: { option, value },
  }),
);

/** A limit of `Queue.monitor` that says nothing. */
export const invalidMonitor = defineError('E_INVALID_MONITOR', (path: string, problem: string, value: unknown) => ({
  message: `Queue.monitor(): ${path === '' ? 'it' : path} ${problem}. Write Queue.monitor({ mail: { size: 1000, wait: '5m' } }).`,
  facts: { path, value },
}));

/** Figures were asked for over a span of which none are kept. */
export const invalidSpan = defineError('E_INVALID_SPAN', (within: unknown) => ({
  message: `figures({ within: ${valueText(within)} }): figures are kept for 7 days. Give more than 0 and '7d' at most.`,
  facts: { within },
}));

/** The job whose result was waited for has failed. */
export class JobFailedError extends errorClass(
  'E_JOB_FAILED',
  (job: string, id: string, { name, message }: { readonly name: string; readonly message: string }) => ({
    message: `${job} ${id} has failed: ${name}: ${message}`,
    facts: { job, id, name, message },
  }),
) {}

/** The job whose result was waited for was cancelled. */
export const endedCancelled = defineError('E_JOB_ENDED_CANCELLED', (job: string, id: string, reason?: string) => ({
  message: `${job} ${id} was cancelled${reason === undefined ? '' : ` (${reason})`}: there is no result.`,
  facts: { job, id, reason },
}));

/** What a job gave could not be kept: it has completed all the same. */
export const resultNotKept = defineError('E_RESULT_NOT_KEPT', (job: string, id: string, reason: string) => ({
  message: `${job} ${id} has completed, but what it gave could not be kept: ${reason}`,
  facts: { job, id, reason },
}));

const STILL: Readonly<Record<string, string>> = {
  ready: 'is ready, and waits for a worker',
  delayed: 'is delayed, and not ready yet',
  running: 'still runs',
};

/** `state`: as far as is known. */
export const resultPending = defineError(
  'E_RESULT_PENDING',
  (id: string, connection: string, state: string, within: number) => ({
    message:
      STILL[state] === undefined
        ? `Whether the job ${id} has ended is not known after ${within} s: '${connection}' did not look at all of its jobs. Name its queue, or ask again.`
        : `The job ${id} ${STILL[state]} after ${within} s. Ask again, or give it longer: { within: '5m' }.`,
    facts: { id, connection, state, within },
  }),
);

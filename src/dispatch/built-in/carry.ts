/**
 * The carrier: a step that records a job's end, but cannot reach another store, queues this job instead, which then sends the
 * other one. It is retried until it succeeds, also by workers that do not know the other connection.
 */
import { toError } from '../../base/exception-text';
import { currentApplication } from '../../connections/application';
import { callbackParts, callbackPayload, progressNumber } from '../../connections/batch-store';
import { sendOnward, followUpEvent, type Onward } from '../../connections/entries';
import { inject } from '../../container/scope';
import { JobContext } from '../../job/job-context';
import type { JobRegistry } from '../../job/registry';
import { CARRIER } from '../../payload/chain';
import { uuidv7 } from '../../payload/uuid';
import { builtInText, declareBuiltIn } from './declare-built-in';

export class Carry {
  readonly onward: Onward;

  constructor(onward: Onward) {
    this.onward = onward;
  }

  async handle(): Promise<void> {
    const application = currentApplication()!;
    const job = inject(JobContext);
    const target = application.driver(this.onward.connection);
    try {
      // A progress is sent again, under the same id, if a failed job of its batch is retried.
      const key = progressNumber(job.id) === undefined ? `carry ${job.id}` : undefined;
      const entry = await sendOnward(application, told(this.onward, job), key);
      const event = application.hooks.has('queued') ? followUpEvent(this.onward, entry) : undefined;
      // Not awaited: a hook that hangs must not make it send the job again.
      if (event !== undefined) void application.hooks.emit('queued', event);
    } catch (error) {
      if (target.capabilities.reserve) throw error;
      // The job ran within its push; its failure is no reason to run it again. Retrying the carrier retries the job.
      job.fail(toError(error));
    }
  }
}

/** Passes on what a batch told the carrier: it is meant for the carried job. Each progress callback gets an id of its own. */
function told(onward: Onward, { id, cause }: JobContext): Onward {
  const number = progressNumber(id);
  if (cause === undefined && number === undefined) return onward;
  const payload = callbackPayload(callbackParts(onward.entry.payload), cause, number);
  return { ...onward, entry: { ...onward.entry, payload } };
}

export function declareCarry(): void {
  declareBuiltIn(Carry, CARRIER);
}

export function carrierText(onward: Onward, classes: JobRegistry): string {
  declareCarry();
  return builtInText(new Carry(onward), uuidv7(), classes);
}

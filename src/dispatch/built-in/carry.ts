/**
 * The carrier: goes into the queue of a job in the step that records its end, and sends another one on to where that step
 * cannot reach. It is tried until it has, also by workers to which the other connection is not known.
 */
import { toError } from '../../base/exception-text';
import { currentApplication } from '../../connections/application';
import { callbackParts, callbackPayload, progressNumber } from '../../connections/batch-store';
import { type Onward, sendOnward } from '../../connections/onward';
import { followUpEvent } from '../../connections/push-event';
import { inject } from '../../container/scope';
import { declareJob } from '../../job/declare';
import { JobContext } from '../../job/job-context';
import { type JobRegistry, registry } from '../../job/registry';
import { CARRIER } from '../../payload/chain';
import { encodePayload } from '../../payload/payload-text';
import { uuidv7 } from '../../payload/uuid';

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
      const entry = await sendOnward(application, told(this.onward, job));
      const event = application.hooks.has('queued') ? followUpEvent(this.onward, entry) : undefined;
      // Not waited for: a hook that never comes back must not have it sent once more.
      if (event !== undefined) void application.hooks.emit('queued', event);
    } catch (error) {
      if (target.capabilities.reserve) throw error;
      // It ran here and now, and what it failed with is no reason to run it again: the retry of the carrier is its retry.
      job.fail(toError(error));
    }
  }
}

/** What a batch has told the carrier is meant for what that carries, and each progress that it tells has an id of its own. */
function told(onward: Onward, { id, cause }: JobContext): Onward {
  const number = progressNumber(id);
  if (cause === undefined && number === undefined) return onward;
  const payload = callbackPayload(callbackParts(onward.entry.payload), cause, number);
  return { ...onward, entry: { ...onward.entry, payload } };
}

/** Before the first job runs, and not when this module is loaded: a second version of Onqueue is told of by its first job. */
export function declareCarry(): void {
  if (registry().definitionOf(Carry) !== undefined) return;
  const options = { name: CARRIER, tries: 0, timeout: 0, backoff: { exponential: '1s', max: '1m' } } as const;
  declareJob(Carry, options, declareCarry, true);
}

// Nobody has a say in its payload: a size, or a field that somebody adds, would fail a job that is done.
export function carrierText(onward: Onward, classes: JobRegistry): string {
  declareCarry();
  const definition = classes.definitionOf(Carry)!;
  return encodePayload({ definition, job: new Carry(onward), chosen: {}, id: uuidv7(), classes });
}

/**
 * The carrier: goes into the queue of a job in the step that records its end, and sends another one on to where that step
 * cannot reach. It is tried until it has, also by workers to which the other connection is not known.
 */
import { toError } from '../base/exception-text';
import { currentApplication } from '../connections/application';
import { type Onward, sendOnward } from '../connections/onward';
import { inject } from '../container/scope';
import { Job } from '../job/job';
import { JobContext } from '../job/job-context';
import { BUILT_IN, registry } from '../job/registry';

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
      await sendOnward(application, this.onward);
    } catch (error) {
      if (target.capabilities.reserve) throw error;
      // It ran here and now, and what it failed with is no reason to run it again: the retry of the carrier is its retry.
      job.fail(toError(error));
    }
  }
}

/** Before the first job runs, and not when this module is loaded: a second version of Onqueue is told of by its first job. */
export function declareCarry(): void {
  if (registry().definitionOf(Carry) !== undefined) return;
  Job({ name: `${BUILT_IN}carry`, tries: 0, timeout: 0, backoff: { exponential: '1s', max: '1m' } })(Carry);
}

/**
 * The carrier: goes into the queue of a job in the step that records its end, and sends another one on to where that step
 * cannot reach. It is tried until it has.
 */
import { currentApplication } from '../connections/application';
import { type Onward, sendOnward } from '../connections/onward';
import { Job } from '../job/job';
import { BUILT_IN, registry } from '../job/registry';

export class Carry {
  readonly onward: Onward;

  constructor(onward: Onward) {
    this.onward = onward;
  }

  async handle(): Promise<void> {
    await sendOnward(currentApplication()!, this.onward);
  }
}

/** Before the first job runs, and not when this module is loaded: a second version of Onqueue is told of by its first job. */
export function declareCarry(): void {
  if (registry().definitionOf(Carry) !== undefined) return;
  Job({ name: `${BUILT_IN}carry`, tries: 0, maxCrashes: 0, backoff: { exponential: '1s', max: '1m' } })(Carry);
}

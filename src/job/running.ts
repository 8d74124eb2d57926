/**
 * Ties a running job to its reservation, beside the instance: on it, it would be data.
 *
 * A private field does so also for an instance that is frozen or was made without its constructor. A `WeakMap` would be
 * simpler, but keeps each job until a full garbage collection, and young collections copy it until then.
 */
import type { JobContext } from './job-context';

/** Its constructor returns the job it is given, so the private fields of the class below are added to that job. */
const Given = function (job: object): object {
  return job;
} as unknown as new (job: object) => object;

class WithContext extends Given {
  #context: JobContext;

  constructor(job: object, context: JobContext) {
    super(job);
    this.#context = context;
  }

  static attach(job: object, context: JobContext): object {
    if (!(#context in job)) return new WithContext(job, context);
    job.#context = context;
    return job;
  }

  static of(job: object): JobContext | undefined {
    return #context in job ? job.#context : undefined;
  }
}

/** Replaces the context of an earlier run. */
export function attachContext(job: object, context: JobContext): void {
  WithContext.attach(job, context);
}

export function contextOf(job: object): JobContext | undefined {
  return WithContext.of(job);
}

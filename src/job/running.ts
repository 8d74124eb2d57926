/**
 * Ties a running job to its reservation, beside the instance: on it, it would be data.
 *
 * By a private field, which nothing that reads, copies or freezes the instance sees or minds. A `WeakMap` does the same,
 * but makes of each job what only a full garbage collection finds.
 */
import type { JobContext } from './job-context';

/** A constructor that gives what it is given: a class that extends it puts its private fields there. */
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

/** In place of the one of an earlier run, if there was one. */
export function attachContext(job: object, context: JobContext): void {
  WithContext.attach(job, context);
}

export function contextOf(job: object): JobContext | undefined {
  return WithContext.of(job);
}

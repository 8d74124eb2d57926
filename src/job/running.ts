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

  static attach(job: object, context: JobContext): void {
    if (#context in job) job.#context = context;
    else new WithContext(job, context);
  }

  static of(job: object): JobContext | undefined {
    return #context in job ? job.#context : undefined;
  }
}

export const attachContext = WithContext.attach;
export const contextOf = WithContext.of;

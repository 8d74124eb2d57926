/** Ties a running job to its reservation. */
import { Given } from './given';
import type { JobContext } from './job-context';

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

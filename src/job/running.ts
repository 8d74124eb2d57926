/** Ties a running job to its reservation, beside the instance: on it, it would be data. */
import type { JobContext } from './job-context';

const contexts = new WeakMap<object, JobContext>();

export function attachContext(job: object, context: JobContext): void {
  contexts.set(job, context);
}

export function contextOf(job: object): JobContext | undefined {
  return contexts.get(job);
}

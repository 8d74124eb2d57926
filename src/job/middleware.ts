/** What wraps a run, onion-shaped. */
import type { JobContext } from './job-context';

export interface Middleware {
  /**
   * Call `next` to go on; return without it, and the job counts as completed unless it was released or failed. Further
   * parameters with `@Inject` are resolved within the run.
   */
  handle(job: JobContext, next: () => Promise<unknown>, ...injected: never[]): unknown;
}

export type MiddlewareFunction = Middleware['handle'];

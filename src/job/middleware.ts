/** Wraps a run, like a layer of an onion. */
import type { JobContext } from './job-context';

export interface Middleware {
  /**
   * Call `next` to go on. If it returns without calling `next`, the job counts as completed unless it was released or failed.
   * Further parameters with `@Inject` are resolved within the run.
   */
  handle(job: JobContext, next: () => Promise<unknown>, ...injected: never[]): unknown;
}

export type MiddlewareFunction = Middleware['handle'];

/** What wraps a run, onion-shaped. */
import type { JobContext } from './job-context';

export interface Middleware {
  /** Call `next` to go on; further parameters with `@Inject` are resolved within the run. Return without it, and the job counts as completed unless it was released or failed. */
  handle(job: JobContext, next: () => Promise<unknown>, ...injected: never[]): unknown;
}

export type MiddlewareFunction = Middleware['handle'];

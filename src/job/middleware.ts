/** What wraps a run, onion-shaped. */
import type { JobContext } from './job-context';

export interface Middleware {
  /** Call `next` to go on; return without it, and the job counts as completed unless it was released or failed. */
  handle(job: JobContext, next: () => Promise<unknown>): unknown;
}

export type MiddlewareFunction = Middleware['handle'];

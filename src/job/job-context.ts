/** The running reservation, as a job, a handler or a middleware sees it. */
import type { Delay } from './duration';

/**
 * The running reservation. A class, so that handlers and plain jobs can have it injected by its type; the executor
 * makes the one that runs.
 */
export abstract class JobContext {
  /** The payload's; of one that cannot be read, that of the failed job. */
  abstract readonly id: string;
  abstract readonly name: string;
  abstract readonly queue: string;
  abstract readonly connectionName: string;
  /** 1 in the first run. */
  abstract readonly attempts: number;
  /** Grows with every reservation of the job: a fencing token for the user's own database. */
  abstract readonly fence: number;
  /** Aborts on timeout, lost lease, cancellation or shutdown; `reason` says which. */
  abstract readonly signal: AbortSignal;
  /** The payload's fields, those that `createPayloadUsing` added among them. */
  abstract readonly payload: Readonly<Record<string, unknown>>;
  /** Back to the queue after `delay` (default 0); the try stays spent. */
  abstract release(delay?: Delay): void;
  /** Out of tries at once. */
  abstract fail(error?: Error | string): void;
  /** Ends the job as completed, whatever `handle` does from here on. */
  abstract delete(): void;
}

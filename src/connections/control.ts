/** Orders that reach every worker through the store: cancel a job, pause a queue, restart. */
import type { Milliseconds, Seconds } from '../base/clock';
import type { Reservation } from './contract';

/**
 * `removed`: it waited, and is gone. `signalled`: it is running, and is told to stop. `marked`: it was not found within the
 * limited search of a store; it ends as cancelled when a worker meets it. `unknown`: it is not there: done, failed, removed
 * before, or never dispatched.
 */
export type CancelResult = 'removed' | 'signalled' | 'marked' | 'unknown';

/** Options of a cancellation. */
export interface CancelOptions {
  /** The queue that the job must be in. By default all queues of the connection are searched. */
  readonly queue?: string | undefined;
  /**
   * The reason, in one line of up to 255 characters. It is passed on to `signal.reason` of the running job, the `cancelled`
   * hook and the log.
   */
  readonly reason?: string | undefined;
}

/** A queue from which nothing is taken. */
export interface Pause {
  readonly queue: string;
  /** When the pause ends by itself, by the store's clock, in milliseconds since 1970. Absent: only when it is resumed. */
  readonly until?: Milliseconds | undefined;
}

/** @param until Infinity: when it is resumed */
export function pauseOf(queue: string, until: Milliseconds): Pause {
  return until === Infinity ? { queue } : { queue, until: Math.round(until) };
}

export interface Control {
  /**
   * Cancels the job with this `id`. Never searches a long list in the store.
   *
   * @param queue the queue that it must be in; absent: all queues that the store knows are searched
   * @param reason stored with the mark of a job that is not removed at once: at most 255 characters, no control characters
   */
  cancel(id: string, queue?: string, reason?: string): Promise<CancelResult>;
  /**
   * Whether each of these jobs was cancelled, in order: true, or the reason that was given. Some may have ended meanwhile.
   * Must be cheap: workers ask twice a second about running jobs. Absent: they learn it when they renew, without a reason.
   */
  cancelled?(reservations: readonly Reservation[]): Promise<readonly (boolean | string)[]>;
  /**
   * Once this resolves, nothing of the queue is handed out. False if it was paused already; then the end of that pause has
   * changed.
   *
   * @param seconds after which the pause ends by itself, by the store's clock; absent: it lasts until it is resumed
   */
  pause(queue: string, seconds?: Seconds): Promise<boolean>;
  /** False if it was not paused. Wakes those who wait for work. */
  resume(queue: string): Promise<boolean>;
  /** The paused queues, sorted by name. */
  paused(): Promise<readonly Pause[]>;
  /** Tells all workers of this store to finish their jobs and end, so that their processes restart. */
  restart(): Promise<void>;
}

/** Orders that reach every worker through the store: cancel a job, pause a queue, start anew. */
import type { Seconds } from '../base/clock';
import type { Reservation } from './contract';
import type { Pause } from './pause';

/**
 * `removed`: it waited, and is gone. `signalled`: it is running, and is told to stop.
 * `marked`: it was not found in the bounded look that a store takes; it ends as cancelled when a worker meets it.
 * `unknown`: it is not there: done, failed, removed before, or never dispatched.
 */
export type CancelResult = 'removed' | 'signalled' | 'marked' | 'unknown';

/** What may be said of a cancellation. */
export interface CancelOptions {
  /** Where the job is known to be; by default all queues of the connection are looked at. */
  readonly queue?: string | undefined;
  /**
   * Why, in one line of up to 255 characters: `signal.reason` of the running job has it, the `cancelled` hook and the log line.
   */
  readonly reason?: string | undefined;
}

export interface Control {
  /**
   * Cancels the job with this `id`. Never searches a long list in the store.
   *
   * @param queue where it is known to be; absent: all queues that the store knows are looked at
   * @param reason kept with the mark of one that is not removed at once: at most 255 characters, none of them a control character
   */
  cancel(id: string, queue?: string, reason?: string): Promise<CancelResult>;
  /**
   * Whether each of these jobs was cancelled, in order: true, or the reason that was given. Some may have ended meanwhile.
   * Costs little: workers ask twice a second for those that run. Absent: they hear of it when they renew, without a reason.
   */
  cancelled?(reservations: readonly Reservation[]): Promise<readonly (boolean | string)[]>;
  /**
   * From the moment this resolves nothing of the queue is handed out. False: it was paused already; the end of that pause is
   * another one now.
   *
   * @param seconds after which the pause is over by itself, by the clock of the store; absent: when it is resumed
   */
  pause(queue: string, seconds?: Seconds): Promise<boolean>;
  /** False: it was not paused. Wakes who waits for work. */
  resume(queue: string): Promise<boolean>;
  /** The queues that are paused, in the order of their names. */
  paused(): Promise<readonly Pause[]>;
  /** Tells all workers of this store to finish what they run and end, so that their processes start anew. */
  restart(): Promise<void>;
}

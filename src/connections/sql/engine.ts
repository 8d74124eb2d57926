/** How the parts of a connection reach its database. */
import type { Seconds } from '../../base/clock';
import type { Work } from './statement';

export interface Purpose {
  /** What was not done when it fails, as a clause. */
  readonly consequence: string;
  /** Default: it only reads. `once`: done twice, it would not be the same. */
  readonly writes?: 'repeatable' | 'once';
  /** It must survive a power failure once it is confirmed. What is lost otherwise is done again: a job runs twice. */
  readonly durable?: boolean;
  /** Default: that of the connection. */
  readonly deadline?: Seconds;
}

/** What is done once, and must not be lost. */
export const orderOf = (consequence: string): Purpose => ({ consequence, writes: 'once', durable: true });

export interface Engine {
  /**
   * Carries the work out within the deadline. It may be begun again, on another connection.
   *
   * @throws QueueUnavailableError, and what else says why it was not done; errors of ours that the work throws
   */
  run<T>(purpose: Purpose, work: () => Work<T>): Promise<T>;
  /** What is under way ends first. */
  close(): Promise<void>;
}

/**
 * Runs work while the connection is open and its tables are there.
 *
 * @param operation for errors: `failed.list`
 * @throws ConnectionClosedError, and what `Engine.run` throws
 */
export type Access = <T>(operation: string, purpose: Purpose, work: () => Work<T>) => Promise<T>;

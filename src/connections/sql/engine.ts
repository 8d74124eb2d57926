/** How the parts of a connection reach its database. */
import type { Seconds } from '../../base/clock';
import type { Work } from './statement';

export interface Purpose {
  /** What was not done if the call fails, as a clause. */
  readonly consequence: string;
  /** Default: it only reads. `once`: repeating it would change the result. */
  readonly writes?: 'repeatable' | 'once';
  /** Must survive a power failure once it is confirmed. Other writes that are lost are done again: a job runs twice. */
  readonly durable?: boolean;
  /** Default: that of the connection. */
  readonly deadline?: Seconds;
}

/** A write that may be repeated. */
export const repeatable = (consequence: string): Purpose => ({ consequence, writes: 'repeatable' });

/** A write that happens once and must not be lost. */
export const orderOf = (consequence: string): Purpose => ({ consequence, writes: 'once', durable: true });

export interface Engine {
  /**
   * Runs the work within the deadline. It may be restarted on another connection.
   *
   * @throws QueueUnavailableError, other errors that say why it was not done, and errors of ours that the work throws
   */
  run<T>(purpose: Purpose, work: () => Work<T>): Promise<T>;
  /** Waits for calls under way first. */
  close(): Promise<void>;
}

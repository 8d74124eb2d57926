/** What a manager stops when it closes: workers, mostly. */
import type { Seconds } from '../base/clock';

export interface Closable {
  /** May be called at any time, any number of times. */
  close(): Promise<void>;
  /** Whether it waits for the very code that asks, which then must not wait for its end. */
  readonly isCaller?: boolean | undefined;
  /** Seconds that a clean end may take; past them the manager goes on without it. Default 60. */
  readonly closeDeadline?: Seconds | undefined;
}

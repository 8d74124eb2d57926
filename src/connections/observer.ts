/** What looks at runs from the outside: figures, histories. Cheaper than a hook, never awaited, and told of what the store has confirmed. */
import type { Milliseconds } from '../base/clock';
import type { JobContext } from '../job/job-context';
import type { Reservation, Settlement } from './contract';

export interface EndedRun {
  readonly job: JobContext;
  readonly reservation: Reservation;
  /** As the store has confirmed it. `lost`: it refused what the run had ended with. */
  readonly outcome: Settlement['outcome'] | 'lost';
  /** What its attempt failed with, or why it was given back; undefined: neither. */
  readonly error: Error | undefined;
  /** Its handler was called. */
  readonly isAttempt: boolean;
  readonly took: Milliseconds;
}

export interface Observer {
  /** A run has ended. What this throws is reported. */
  ended(run: EndedRun): void;
}

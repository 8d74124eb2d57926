/** What looks at runs from the outside: figures, histories. Cheaper than a hook, never awaited, and told of what the store has confirmed. */
import type { Milliseconds } from '../base/clock';
import type { JobContext } from '../job/job-context';
import type { Progress } from '../job/progress';
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

/** What one of these throws is reported. */
export interface Observer {
  /** A run has ended. */
  ended(run: EndedRun): void;
  /** A run begins of a job whose worker before died or froze. */
  recovered?(job: JobContext, reservation: Reservation): void;
  /** A running job says how far it is. */
  progressed?(job: JobContext, progress: Progress): void;
}

interface Observed {
  readonly observers: ReadonlySet<Observer>;
  report(error: unknown, context: { readonly job: JobContext; readonly during: string }): void;
}

/** Never throws: whatever looks at a job is not in its way. */
export function tellObservers(application: Observed, job: JobContext, tell: (observer: Observer) => void): void {
  for (const observer of application.observers) {
    try {
      tell(observer);
    } catch (error) {
      application.report(error, { job, during: 'an observer' });
    }
  }
}

/** What looks at jobs from the outside, as tracing, figures and histories do. Nothing waits for it, and it changes no outcome. */
import type { Milliseconds } from '../base/clock';
import type { JobContext } from '../job/job-context';
import type { Progress } from '../job/progress';
import type { Reservation, Settlement } from './contract';
import { invalidObserver } from './errors';

/** A job that is being dispatched. */
export interface DispatchingJob {
  readonly id: string;
  readonly name: string;
  readonly connectionName: string;
  readonly queue: string;
}

/** What an observer makes of one dispatch. */
export interface DispatchObservation {
  /** Added to the payload, as `createPayloadUsing` does: JSON alone. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  /**
   * The job is in its queue, or in the payload of the one that it follows; with an error: it could not be encoded, or its store has
   * refused it. Not called for one that a transaction has taken back.
   */
  readonly end?: ((error?: unknown) => void) | undefined;
}

export interface EndedRun {
  readonly job: JobContext;
  readonly reservation: Reservation;
  /** As the store has confirmed it. `lost`: it refused what the run had ended with. */
  readonly outcome: Settlement['outcome'] | 'lost';
  /** What its attempt failed with, or why it was given back; undefined: neither. */
  readonly error: Error | undefined;
  /** Of a job that has failed for good: its error as it is kept, with its stack and causes. */
  readonly exception?: string | undefined;
  /** Its handler was called. */
  readonly isAttempt: boolean;
  /** When it began, by the clock of the store where that is known. */
  readonly startedAt: Milliseconds;
  readonly took: Milliseconds;
  /** From when it was ready to its first attempt. Undefined: it is another attempt, or nobody knows. */
  readonly waited: Milliseconds | undefined;
}

/** Each part may be absent, is called at once and never awaited, and what it throws goes to `Queue.onError`. */
export interface Observer {
  /** A job is about to be encoded, in the async context of its dispatch. Not called for a text that is a payload already. */
  dispatching?(job: DispatchingJob): DispatchObservation | undefined | void;
  /**
   * A handler is about to run: `call` runs it with its middleware, and has to be called before this returns. What it gives or throws
   * is what the run goes on with, whatever is made of it here.
   */
  around?(job: JobContext, call: () => unknown): unknown;
  /** A run of a worker has ended, and the store has confirmed how. */
  ended?(run: EndedRun): void;
  /** A run begins of a job whose worker before died or froze. */
  recovered?(job: JobContext, reservation: Reservation): void;
  /** A running job says how far it is. */
  progressed?(job: JobContext, progress: Progress): void;
}

const PARTS: readonly (keyof Observer)[] = ['dispatching', 'around', 'ended', 'recovered', 'progressed'];

/** What is none would be found out when nothing is seen. @throws E_INVALID_OBSERVER */
export function checkObserver(given: unknown): void {
  if (typeof given !== 'object' || given === null) throw invalidObserver(given, 'it is no object');
  const observer = given as Readonly<Record<string, unknown>>;
  const wrong = PARTS.find((part) => observer[part] !== undefined && typeof observer[part] !== 'function');
  if (wrong !== undefined) throw invalidObserver(given, `${wrong} is no function`);
  if (PARTS.every((part) => observer[part] === undefined)) throw invalidObserver(given, 'it has none of these');
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

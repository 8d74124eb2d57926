/**
 * Observers watch jobs from the outside, for tracing, figures and histories. Nothing waits for them, and they change no
 * outcome.
 */
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

/** An observer's view of one dispatch. */
export interface DispatchObservation {
  /** Fields to add to the payload, as with `createPayloadUsing`: plain JSON. */
  readonly fields?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Called when the job is in its queue, or in the payload of the job that it follows; with an error if it could not be
   * encoded, or its store refused it. Not called for a job that a transaction has rolled back.
   */
  readonly end?: ((error?: unknown) => void) | undefined;
}

export interface EndedRun {
  readonly job: JobContext;
  /** The name of its worker. */
  readonly worker: string;
  readonly reservation: Reservation;
  /** As confirmed by the store. `lost`: it refused the outcome. */
  readonly outcome: Settlement['outcome'] | 'lost';
  /** The error of the attempt, or why the job was given back. Undefined if neither. */
  readonly error: Error | undefined;
  /** For a job that failed for good: its error as it is kept, with its stack and causes. */
  readonly exception?: string | undefined;
  /** Whether its handler was called. */
  readonly isAttempt: boolean;
  /** When it began, by the store's clock if that is known. */
  readonly startedAt: Milliseconds;
  readonly took: Milliseconds;
  /** From when it was ready to its first attempt. Undefined for later attempts, and if nobody knows. */
  readonly waited: Milliseconds | undefined;
}

/** Each function is optional, is called synchronously and never awaited. Its errors go to `Queue.onError`. */
export interface Observer {
  /** A job is about to be encoded, in the async context of its dispatch. Not called for a text that is a payload already. */
  dispatching?(job: DispatchingJob): DispatchObservation | undefined | void;
  /**
   * A handler is about to run: `call` runs it with its middleware, and has to be called before this returns. The run
   * continues with what `call` returns or throws, whatever the observer makes of it.
   */
  around?(job: JobContext, call: () => unknown): unknown;
  /** A worker's run has ended, and the store has confirmed how. */
  ended?(run: EndedRun): void;
  /** A run begins of a job whose previous worker died or froze. */
  recovered?(job: JobContext, reservation: Reservation): void;
  /** A running job reports its progress. */
  progressed?(job: JobContext, progress: Progress): void;
}

const PARTS: readonly (keyof Observer)[] = ['dispatching', 'around', 'ended', 'recovered', 'progressed'];

/** Otherwise a wrong observer would be noticed only because nothing is seen. @throws E_INVALID_OBSERVER */
export function checkObserver(given: unknown): void {
  if (typeof given !== 'object' || given === null) throw invalidObserver(given, 'it is not an object');
  const observer = given as Readonly<Record<string, unknown>>;
  const wrong = PARTS.find((part) => observer[part] !== undefined && typeof observer[part] !== 'function');
  if (wrong !== undefined) throw invalidObserver(given, `${wrong} is not a function`);
  if (PARTS.every((part) => observer[part] === undefined)) throw invalidObserver(given, 'it has none of these');
}

interface Observed {
  readonly observers: ReadonlySet<Observer>;
  report(error: unknown, context: { readonly job: JobContext; readonly during: string }): void;
}

/** Never throws: observers must not be in a job's way. */
export function tellObservers(application: Observed, job: JobContext, tell: (observer: Observer) => void): void {
  for (const observer of application.observers) {
    try {
      tell(observer);
    } catch (error) {
      application.report(error, { job, during: 'an observer' });
    }
  }
}

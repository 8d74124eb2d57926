/** An application, as all its parts see it: a `QueueManager` is one. And who observes its jobs. */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { Clock, Seconds, Milliseconds, Random } from '../base/clock';
import { late } from '../base/late-parts';
import type { Container } from '../container/scope';
import type { Hooks } from '../job/hooks';
import type { JobContext, Progress } from '../job/job-context';
import type { JobRegistry } from '../job/registry';
import type { Logger } from '../base/logger';
import type { EntityAdapter } from '../payload/entities';
import type { Vault } from '../payload/vault';
import type { RecordStore } from './record-store';
import type { Connection, Reservation, Settlement } from './contract';
import type { FailedStore } from './failed-store';
import type { Duration } from '../job/duration';
import { invalidObserver } from './errors';

/** Where an error came from that nobody could receive. */
export interface ErrorContext {
  /** What was being done, in words. */
  readonly during: string;
  /** The running job, if there was one. */
  readonly job?: JobContext | undefined;
  /** The name of the job that was being dispatched. */
  readonly name?: string | undefined;
  readonly connection?: string | undefined;
  readonly queue?: string | undefined;
}

/** A running job takes out of its errors what nobody may see of its data. */
export interface MaskingJob {
  /** The same error, changed in place, as a rule. */
  masked(thrown: unknown): unknown;
}

/** Where to find a batch. */
export interface BatchReference {
  readonly id: string;
  readonly connection: string;
  /** The queue of one of its jobs. Undefined if none is known, and the store has to search. */
  readonly queue: string | undefined;
  /** Where added jobs go that choose no queue themselves: what `onQueue()` of the batch said. Undefined: their classes decide. */
  readonly jobs?: string | undefined;
}

/** How a job ended, for whoever waits for its result. */
export type JobEnd =
  | { readonly kind: 'completed'; readonly value: unknown; readonly isSealed?: boolean | undefined }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'cancelled'; readonly reason: string | undefined };

/** A connection's settings with their defaults, durations in seconds. */
export interface ConnectionSettings {
  /** Its name in the configuration. */
  readonly name: string;
  readonly driver: string;
  readonly queue: string;
  readonly retryAfter: Seconds;
  readonly deadline: Seconds;
  /** The largest payload accepted, in bytes. */
  readonly maxPayload: number;
  /** Dispatches within `Queue.transaction()` wait for its end. */
  readonly afterCommit?: boolean | undefined;
}

/** What is kept of what happened to jobs. */
export interface HistoryConfig {
  /** How long completed jobs are remembered, in seconds or as `'1h'`; or `false`: not at all. Default: `'1h'`. */
  readonly completed?: Duration | false | undefined;
  /** Whether to keep the source lines around the place where an attempt threw. Default: `true`. */
  readonly sourceLines?: boolean | undefined;
}

/** A connection that keeps records. */
export type OperationsConnection = Connection & { readonly records: RecordStore };

/** The one view of an application. What only a dispatch needs, `src/dispatch/bus.ts` declares. */
export interface Application {
  readonly registry: JobRegistry;
  readonly configuration: {
    /** Whether workers count jobs, and keep records of themselves. */
    readonly metrics?: boolean | undefined;
    /** False: nothing is kept. */
    readonly history?: false | HistoryConfig | undefined;
  };
  readonly container: Container | undefined;
  /** The adapters for entities. */
  readonly entities: readonly EntityAdapter[];
  /** Seals and opens what is kept of encrypted jobs. */
  readonly vault: Vault;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly random: Random;
  /** Observers of runs. */
  readonly observers: Set<Observer>;
  readonly logger: Logger;
  /** How many failed jobs are kept per queue. */
  readonly keptFailures: number;
  /** The connection that is used if none is named. */
  readonly defaultConnection: string;
  connectionNames(): readonly string[];
  /** @throws E_UNKNOWN_CONNECTION */
  settings(name?: string): ConnectionSettings;
  /** A connection of the configuration, opened if need be. Default: the default connection. */
  driver(name?: string): Connection;
  /** The connection that keeps the failed jobs of connections without a store. */
  readonly failedConnection: string;
  readonly failed: {
    /** Sends them back, and returns how many. */
    retry(which: { readonly batch: string; readonly connection: string }): Promise<number>;
  };
  /** The connection that keeps the records of this one. Undefined if none does. */
  operationsOf(connection: Connection): OperationsConnection | undefined;
  /** Like `operationsOf`, but never undefined. @param job the class of the job that needs it @throws E_NO_RECORDS */
  neededOperationsOf(connection: Connection, job?: string): OperationsConnection;
  /** Makes the end of the application end the given object too. Returns the function that undoes this. @throws E_MANAGER_CLOSED */
  track(closable: { close(): Promise<void> }): () => void;
  /** The open connections. */
  readonly drivers: Iterable<Connection>;
  /** Reports errors that must not change the course of things, to `Queue.onError` or the log. Never throws. */
  report(error: unknown, context: ErrorContext): void;
}

/** The store for a connection's failed jobs: its own, or that of the connection that `failed` names. */
export function failedStoreOf(connection: Connection, application: Application): FailedStore | undefined {
  return connection.failed ?? application.driver(application.failedConnection).failed;
}

/** The application of the current async context, if it is not the usual one. */
const scoped = new AsyncLocalStorage<Application>();

declare module '../base/late-parts' {
  interface LateParts {
    /** The one behind `Queue`. */
    application?: Application | undefined;
    /** Makes it, and puts it there. */
    makeApplication: () => Application;
  }
}

/** The application behind `Queue` here and now. Undefined if none was used yet. */
export function currentApplication(): Application | undefined {
  return scoped.getStore() ?? late.application;
}

/** The same, made on first use. */
export function ensureApplication(): Application {
  return scoped.getStore() ?? late.application ?? late.makeApplication();
}

/**
 * Makes `application` the one behind `Queue` in `run` and everything that it starts: otherwise the jobs that a worker's jobs
 * dispatch would land where nobody looks for them. Free of charge if it is the current application already: an async context
 * of its own would make every promise of the process more expensive.
 */
export function runFor<Result>(application: Application, run: () => Result): Result {
  return application === currentApplication() ? run() : scoped.run(application, run);
}

const inRoot = AsyncLocalStorage.snapshot();

/**
 * Begins what outlives its caller, such as a worker or a client: in the async context in which Onqueue was loaded. Otherwise
 * it would keep the transaction, tenant and trace of whatever request came first, and pass them on to everybody's jobs.
 */
export function inRootContext<Result>(begin: () => Result, application = currentApplication()): Result {
  const run = application === undefined ? begin : () => runFor(application, begin);
  // In a resource of its own: before Node.js 24, `enterWith()` in `begin` would change the root context itself.
  return inRoot(() => new AsyncResource('Onqueue').runInAsyncScope(run));
}

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
   * encoded, or its store refused it.
   */
  readonly end?: ((error?: unknown) => void) | undefined;
  /**
   * Called in place of `end` for a job that nobody sends: its transaction was rolled back, its batch was cancelled, or another worker
   * has sent it for the schedule.
   */
  readonly dropped?: (() => void) | undefined;
}

export interface EndedRun {
  readonly job: JobContext;
  /** The name of its worker; of its connection, if it ran within its dispatch. */
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

/**
 * Watches jobs from the outside, for tracing, figures and histories. Each function is optional, is called synchronously and
 * never awaited, and changes no outcome. Its errors go to `Queue.onError`.
 */
export interface Observer {
  /** A job is about to be encoded, in the async context of its dispatch. Not called for a text that is a payload already. */
  dispatching?(job: DispatchingJob): DispatchObservation | undefined | void;
  /**
   * A handler is about to run: `call` runs it with its middleware, and has to be called before this returns. The run
   * continues with what `call` returns or throws, whatever the observer makes of it.
   */
  around?(job: JobContext, call: () => unknown): unknown;
  /** A run has ended, and the store has confirmed how. On `sync`, where nothing is stored, at the end of the run. */
  ended?(run: EndedRun): void;
  /** A run begins of a job whose previous worker died or froze. */
  recovered?(job: JobContext, reservation: Reservation): void;
  /** A running job reports its progress. */
  progressed?(job: JobContext, progress: Progress): void;
  /** A running job says what it does: one line, with secrets masked. */
  logged?(job: JobContext, line: string): void;
}

const PARTS: readonly (keyof Observer)[] = ['dispatching', 'around', 'ended', 'recovered', 'progressed', 'logged'];

/** Otherwise a wrong observer would be noticed only because nothing is seen. @throws E_INVALID_OBSERVER */
export function checkObserver(given: unknown): void {
  if (typeof given !== 'object' || given === null) throw invalidObserver(given, 'it is not an object');
  const observer = given as Readonly<Record<string, unknown>>;
  const wrong = PARTS.find((part) => observer[part] !== undefined && typeof observer[part] !== 'function');
  if (wrong !== undefined) throw invalidObserver(given, `${wrong} is not a function`);
  if (PARTS.every((part) => observer[part] === undefined)) throw invalidObserver(given, 'it has none of these');
}

/** Never throws: observers must not be in a job's way. */
export function tellObservers(application: Application, job: JobContext, tell: (observer: Observer) => void): void {
  for (const observer of application.observers) {
    try {
      tell(observer);
    } catch (error) {
      application.report(error, { job, during: 'an observer' });
    }
  }
}

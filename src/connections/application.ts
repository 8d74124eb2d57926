/** What connections and workers may use of their application; a `QueueManager` is one. */
import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import type { Clock, Seconds } from '../base/clock';
import type { Random } from '../base/random';
import type { Container } from '../container/container';
import type { Hooks } from '../job/hooks';
import type { JobContext } from '../job/job-context';
import type { JobRegistry } from '../job/registry';
import type { Logger } from '../base/logger';
import type { Counters } from '../payload/counters';
import type { EntityAdapter } from '../payload/entities';
import type { Chain, ChainLink } from '../payload/chain';
import type { BatchMember, BatchSource } from '../job/batch';
import type { Connection } from './contract';
import type { Observer } from './observer';
import type { Onward } from './onward';

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
  | { readonly kind: 'completed'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'cancelled'; readonly reason: string | undefined };

export interface Application {
  readonly registry: JobRegistry;
  readonly container: Container | undefined;
  /** The adapters for entities. */
  readonly entities: readonly EntityAdapter[];
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly random: Random;
  /** Observers of runs. */
  readonly observers: Set<Observer>;
  readonly logger: Logger;
  /** How many failed jobs are kept per queue. */
  readonly keptFailures: number;
  /** Another connection of the configuration. */
  driver(name: string): Connection;
  readonly encoder: {
    /** Encodes jobs that follow a job of the connection `from`. @throws what is wrong with them */
    links(jobs: readonly object[], from: string): readonly ChainLink[];
    /** Checks that the chain can follow the job `name` of the connection `from`. @throws PayloadTooLargeError */
    checkRest(chain: Chain, from: string, name: string): void;
  };
  /** Encodes what a job adds to its batch. @throws what is wrong with it */
  batchMembers(batch: BatchReference, jobs: Iterable<BatchMember>): readonly Onward[];
  /** Adds jobs to a batch now; returns how many. @throws what is wrong with them, and what its store throws */
  addToBatch(batch: BatchReference, jobs: BatchSource): Promise<number>;
  /**
   * Keeps a job's result, or how else it ended, for `keep` seconds from now.
   *
   * @throws QueueUnavailableError the store that should keep it is away
   */
  keepEnd(job: JobContext, end: JobEnd, keep: Seconds): Promise<void>;
  /** The error of the job's last attempt, if its history tells. Waits for the store for two seconds at most; never rejects. */
  lastErrorOf(job: JobContext, counters: Counters): Promise<Error | undefined>;
  /** The open connections. */
  readonly drivers: Iterable<Connection>;
  /** Reports errors that must not change the course of things, to `Queue.onError` or the log. Never throws. */
  report(error: unknown, context: ErrorContext): void;
}

/** The application of the current async context, if it is not the usual one. */
const scoped = new AsyncLocalStorage<Application>();
let usual: Application | undefined;

/** The application behind `Queue` here and now. */
export function currentApplication(): Application | undefined {
  return scoped.getStore() ?? usual;
}

export function usualApplication(): Application | undefined {
  return usual;
}

export function setUsualApplication(application: Application | undefined): void {
  usual = application;
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

/** What a connection and a worker may use of the application they belong to; a `QueueManager` is one. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock, Seconds } from '../base/clock';
import type { Random } from '../base/random';
import type { Container } from '../container/container';
import type { Hooks } from '../job/hooks';
import type { JobContext } from '../job/job-context';
import type { JobRegistry } from '../job/registry';
import type { Logger } from '../base/logger';
import type { Chain, ChainLink } from '../payload/chain';
import type { BatchMember, BatchSource } from '../job/batch';
import type { Connection } from './contract';
import type { Observer } from './observer';
import type { Onward } from './onward';

/** Where an error came from that had nobody to go to. */
export interface ErrorContext {
  /** What was being done, in words. */
  readonly during: string;
  /** The running job, where one was. */
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
  /** One of its jobs' queues; undefined: none is known, and the store is to look for it. */
  readonly queue: string | undefined;
}

/** How a job has ended, for who waits for what it gives. */
export type JobEnd =
  | { readonly kind: 'completed'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly error: Error }
  | { readonly kind: 'cancelled'; readonly reason: string | undefined };

export interface Application {
  readonly registry: JobRegistry;
  readonly container: Container | undefined;
  readonly hooks: Hooks;
  readonly clock: Clock;
  readonly random: Random;
  /** They look at runs. */
  readonly observers: Set<Observer>;
  readonly logger: Logger;
  /** How many failed jobs are kept of each queue. */
  readonly keptFailures: number;
  /** Another connection of the configuration. */
  driver(name: string): Connection;
  /** Jobs that are to follow one of the connection `from`. @throws what is wrong with them */
  links(jobs: readonly object[], from: string): readonly ChainLink[];
  /** Whether it can follow the job `name` of the connection `from`. @throws PayloadTooLargeError */
  checkChain(chain: Chain, from: string, name: string): void;
  /** What a job adds to its batch. @throws what is wrong with it */
  batchMembers(batch: BatchReference, jobs: Iterable<BatchMember>): readonly Onward[];
  /** Adds jobs to a batch now; gives how many. @throws what is wrong with them, and what its store throws */
  addToBatch(batch: BatchReference, jobs: BatchSource): Promise<number>;
  /**
   * Keeps what a job gives, or how else it ends, for so many seconds from now.
   *
   * @throws QueueUnavailableError who is to keep it is away
   */
  keepEnd(job: JobContext, end: JobEnd, keep: Seconds): Promise<void>;
  /** The connections that are open. */
  readonly drivers: Iterable<Connection>;
  /** To `Queue.onError`, or the log: errors that must not change what goes on. Never throws. */
  report(error: unknown, context: ErrorContext): void;
}

/** For whom the present code runs, where that is not the usual one. */
const inForce = new AsyncLocalStorage<Application>();
let usual: Application | undefined;

/** The application that stands behind `Queue` here and now. */
export function currentApplication(): Application | undefined {
  return inForce.getStore() ?? usual;
}

export function usualApplication(): Application | undefined {
  return usual;
}

export function setUsualApplication(application: Application | undefined): void {
  usual = application;
}

/**
 * Has `application` stand behind `Queue` in `run` and in all that it starts: the jobs of what a worker runs would otherwise
 * land where nobody looks for them. Costs nothing where it stands there anyway: an async context of its own would make each
 * promise of the process dearer.
 */
export function runFor<Result>(application: Application, run: () => Result): Result {
  return application === currentApplication() ? run() : inForce.run(application, run);
}

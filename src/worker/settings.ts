/** What a worker works with, and what it may do with its process. */
import type { Seconds } from '../base/clock';
import type { LogFormat } from '../base/logger';
import type { FailedStore } from '../connections/failed-store';
import type { Connection } from '../connections/contract';
import type { RecordStore } from '../connections/record-store';
import type { Application } from '../connections/application';
import type { WeightedQueue, ResolvedWorkerOptions } from './worker-options';
import type { WatchUncaught } from './uncaught';

/**
 * Powers of a worker that `onqueue work` runs, because it has its process to itself. A worker in a program has none of them.
 */
export interface WorkersProcess {
  /** Whether the process may be ended when a handler blocks its event loop. */
  readonly endsProcess?: boolean | undefined;
  /** The format of log lines on standard error. */
  readonly log?: LogFormat | undefined;
  /** It replaces a worker that died: under `drain` it waits for the jobs that the dead one held. */
  readonly afterCrash?: boolean | undefined;
  /** Called before each handler starts, because a handler may kill the process; and when the worker takes no more jobs. */
  readonly changed?: (() => void) | undefined;
  /** Listens for errors that nobody caught. */
  readonly uncaught?: WatchUncaught | undefined;
}

/** What a worker works with. */
export interface WorkerSettings {
  /** What the worker is called. */
  readonly name: string;
  readonly options: ResolvedWorkerOptions;
  readonly connection: Connection;
  readonly queues: readonly WeightedQueue[];
  readonly lease: Seconds;
  readonly application: Application;
  /** The connection's own store, or the one that takes its failed jobs. Undefined if the connection buries them. */
  readonly failedStore: FailedStore | undefined;
  /** Where records about jobs are kept. Undefined if nowhere. */
  readonly records: RecordStore | undefined;
  readonly process: WorkersProcess;
}

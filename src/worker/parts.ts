/** Builds the parts of a running worker; each file says what its part decides. */
import type { Seconds } from '../base/clock';
import type { LogFormat } from '../base/console-logger';
import type { FailedStore } from '../connections/failed-store';
import type { Connection } from '../connections/contract';
import type { RecordStore } from '../connections/record-store';
import type { Application } from '../connections/application';
import { Emptiness } from './emptiness';
import { Executor } from './executor';
import { Idle } from './idle';
import { LeaseKeeper } from './lease/keeper';
import type { WeightedQueue } from './queue-order';
import { Runs } from './runs';
import { Settler } from './settler';
import { Stopping } from './stopping';
import { StoreHealth } from './store-health';
import type { WatchUncaught } from './uncaught';
import type { ResolvedWorkerOptions } from './worker-options';

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

export interface Parts {
  readonly idle: Idle;
  readonly store: StoreHealth;
  readonly stopping: Stopping;
  /** Undefined if the worker does not stop when nothing is left. */
  readonly emptiness: Emptiness | undefined;
  readonly executor: Executor;
  readonly leases: LeaseKeeper;
  readonly runs: Runs;
  readonly settler: Settler;
}

/** @param caller the worker, which waits for its hooks */
export function partsOf(settings: WorkerSettings, caller: object): Parts {
  const { options, connection, lease, application, process } = settings;
  const { clock, logger, hooks } = application;
  const { defaults, grace, sleep } = options;
  const queues = settings.queues.map(({ name }) => name);
  const idle = new Idle({ connection, queues, sleep, clock, hooks });
  const store = new StoreHealth(application, connection, queues[0]!, idle.ring);
  const stopping = new Stopping(options, clock, () => runs.interrupt(), idle.ring);
  const emptiness = options.stopWhenEmpty ? new Emptiness(settings) : undefined;
  const executor = new Executor(application, { defaults, grace, lease, caller, starting: process.changed });
  const leases = new LeaseKeeper({
    connection,
    lease,
    clock,
    logger,
    grace,
    endsProcess: process.endsProcess,
    log: process.log,
    report: (error) => store.tell(error, 'renewing leases'),
    // A worker with all slots busy hears of the store only through renewals.
    recovered: () => store.recovered(),
  });
  const runs = new Runs(settings, { executor, leases, stopping, idle, emptiness });
  const settler = new Settler(settings, { executor, leases, runs, store, idle });
  return { idle, store, stopping, emptiness, executor, leases, runs, settler };
}

/** The parts of a running worker, and what they tell each other. */
import type { Seconds } from '../base/clock';
import { StoreClock } from '../base/store-clock';
import type { FailedStore } from '../connections/failed-store';
import type { Connection } from '../connections/contract';
import type { Application } from '../connections/application';
import { Apart } from './apart';
import { Emptiness } from './emptiness';
import { Executor } from './executor';
import { Idle } from './idle';
import { logStubborn } from './job-log';
import { LeaseKeeper } from './lease/keeper';
import { Looping } from './looping';
import { Orders } from './orders';
import { isForOthers } from './outcome';
import type { WeightedQueue } from './queue-order';
import type { Outcome, RunningJob } from './running-job';
import { Runs } from './runs';
import { Settler } from './settler';
import { Stopping } from './stopping';
import { StoreHealth } from './store-health';
import type { WatchUncaught } from './uncaught';
import type { ResolvedWorkerOptions } from './worker-options';

/** What a worker of the command has, because its process is its own; a worker of a program has none of it. */
export interface WorkersProcess {
  /** The process may be ended when a handler blocks its event loop. */
  readonly endsProcess?: boolean | undefined;
  /** It stands in for one that has died: under `drain` the jobs that this one held are not left behind. */
  readonly afterCrash?: boolean | undefined;
  /** Called before each handler starts, which may take the process with it; and when the worker takes no more jobs. */
  readonly changed?: (() => void) | undefined;
  /** Where errors are heard that nobody has caught. */
  readonly uncaught?: WatchUncaught | undefined;
}

export interface WorkLoopSettings {
  readonly options: ResolvedWorkerOptions;
  readonly connection: Connection;
  readonly queues: readonly WeightedQueue[];
  readonly lease: Seconds;
  readonly application: Application;
  /** The connection's own, or where its failed jobs go. Undefined: it buries them. */
  readonly failedStore: FailedStore | undefined;
  readonly process: WorkersProcess;
}

export interface Parts {
  readonly storeClock: StoreClock;
  readonly stopping: Stopping;
  readonly idle: Idle;
  readonly store: StoreHealth;
  readonly orders: Orders;
  readonly looping: Looping;
  readonly emptiness: Emptiness;
  readonly apart: Apart;
  readonly executor: Executor;
  readonly leases: LeaseKeeper;
  readonly settler: Settler;
  readonly runs: Runs;
}

/**
 * @param caller the worker, which waits for its hooks
 * @param ring has the loop take a step
 * @param isEnding whether the worker starts no more jobs
 */
export function partsOf(settings: WorkLoopSettings, caller: object, ring: () => void, isEnding: () => boolean): Parts {
  const { options, connection, lease, application, failedStore } = settings;
  const { endsProcess = false, afterCrash = false, changed } = settings.process;
  const { clock, logger } = application;
  const { concurrency, defaults, drain, grace, sleep } = options;
  const queues = settings.queues.map(({ name }) => name);
  const idle = new Idle(connection, queues, sleep, clock, ring);
  const freed = (): void => {
    idle.lookAgain();
    ring();
  };
  const store = new StoreHealth(application, connection, queues[0]!, ring);
  const leftUntil = afterCrash ? clock.monotonic() + lease * 1000 : -Infinity;
  const emptiness = new Emptiness({ connection, queues, clock, drain, leftUntil });
  const executor = new Executor(application, { defaults, grace, lease, caller, starting: changed });
  const apart = new Apart((job) => executor.isLastChance(job));
  const leases = new LeaseKeeper({
    connection,
    lease,
    clock,
    logger,
    grace,
    endsProcess,
    report: (error) => store.tell(error, 'renewing leases'),
    // A worker whose slots are all busy hears of the store by its leases alone.
    recovered: () => store.recovered(),
  });
  const ended = (job: RunningJob, outcome: Outcome): void => {
    if (drain && isForOthers(outcome)) emptiness.leave(job);
    // In a worker that ends no slot is waited for, and the line on the outcome says enough.
    if (job.handler === 'running' && !isEnding()) logStubborn(logger, job);
    ring();
  };
  const runs = new Runs({ options, executor, leases, apart, clock, logger, endsProcess, ended, freed });
  const settler = new Settler({
    connection,
    announcer: executor.announcer,
    failedStore,
    logger,
    clock,
    lease,
    concurrency,
    mostFailures: application.keptFailures,
    settled: (job) => {
      leases.drop(job);
      ring();
    },
    untaken: (finished, error) => {
      runs.takeBack(finished);
      store.failed(error, finished.length === 0 ? 'reserving' : 'settling');
    },
    answered: () => {
      if (settler.unanswered === 0 && !store.isPausing) store.recovered();
    },
    announced: freed,
  });
  return {
    storeClock: new StoreClock(clock),
    stopping: new Stopping(options, clock, () => runs.interrupt(), ring),
    idle,
    store,
    orders: new Orders(connection, logger),
    looping: new Looping(application, { connectionName: connection.name, queue: queues.join(',') }, sleep, ring),
    emptiness,
    apart,
    executor,
    leases,
    settler,
    runs,
  };
}

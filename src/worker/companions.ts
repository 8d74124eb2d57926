/** What runs beside a worker: companions report on its jobs or send jobs of schedules. No job waits for them. */
import type { QueueManager } from '../application/queue-manager';
import type { Connection } from '../connections/contract';
import { JobHistories } from '../operations/history/job-histories';
import { startFigures } from './figures';
import type { WorkerGlance } from './health';
import { keepRecord } from './own-record';
import type { RunningJob } from './running-job';
import type { ResolvedWorkerOptions } from './worker-options';

/** What a companion may see of the worker. */
export interface Attended {
  readonly manager: QueueManager;
  readonly connection: Connection;
  readonly options: ResolvedWorkerOptions;
  readonly glance: () => WorkerGlance;
  /** The jobs whose handlers run now. */
  readonly running: () => readonly RunningJob[];
}

export interface Companion {
  /** Stops it. Waits for the store for a few seconds at most; never rejects. */
  close(): Promise<void>;
}

/** Starts a companion with the worker. Undefined: this worker does not need it. Must not throw. */
type StartCompanion = (worker: Attended) => Companion | undefined;

const STARTERS: readonly StartCompanion[] = [keepRecord, keepHistories, keepSchedules, startFigures];

function keepHistories({ manager, connection }: Attended): Companion | undefined {
  return JobHistories.start(manager, connection);
}

/** All workers of a process share them. */
function keepSchedules({ manager, options }: Attended): Companion | undefined {
  return options.schedule ? { close: manager.schedules.keep() } : undefined;
}

export function startCompanions(worker: Attended): readonly Companion[] {
  return STARTERS.flatMap((start) => start(worker) ?? []);
}

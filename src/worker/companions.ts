/** What lives beside a running worker: it tells of its jobs or sends some, and none of its jobs waits for it. */
import type { QueueManager } from '../application/queue-manager';
import type { Connection } from '../connections/contract';
import { JobHistories } from '../operations/history/job-histories';
import { startFigures } from './figures';
import type { WorkerGlance } from './health';
import { keepRecord } from './own-record';
import type { RunningJob } from './running-job';
import type { ResolvedWorkerOptions } from './worker-options';

/** What it may see of the worker. */
export interface Attended {
  readonly manager: QueueManager;
  readonly connection: Connection;
  readonly options: ResolvedWorkerOptions;
  readonly glance: () => WorkerGlance;
  /** The jobs whose handlers run now. */
  readonly running: () => readonly RunningJob[];
}

export interface Companion {
  /** It has nothing more to do. Waits for its store for a few seconds at most; never rejects. */
  close(): Promise<void>;
}

/** Starts one, as the worker starts; undefined: this worker has no need of it. Must not throw. */
type StartCompanion = (worker: Attended) => Companion | undefined;

const STARTERS: readonly StartCompanion[] = [keepRecord, keepHistories, keepSchedules, startFigures];

function keepHistories({ manager, connection }: Attended): Companion | undefined {
  return JobHistories.start(manager, connection);
}

/** Several workers of a process keep them together. */
function keepSchedules({ manager, options }: Attended): Companion | undefined {
  return options.schedule ? { close: manager.schedules.keep() } : undefined;
}

export function startCompanions(worker: Attended): readonly Companion[] {
  return STARTERS.flatMap((start) => start(worker) ?? []);
}

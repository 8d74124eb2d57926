/** What runs beside a worker: companions report on its jobs or send jobs of schedules. No job waits for them. */
import type { QueueManager } from '../application/queue-manager';
import type { Connection } from '../connections/contract';
import type { BusyEvent } from '../job/hook-events';
import { FigureReporter } from '../operations/figures/figure-reporter';
import { QueueSampler } from '../operations/figures/queue-sampler';
import { JobHistories } from '../operations/history/job-histories';
import type { OperationsConnection } from '../operations/operations-connection';
import { OwnRecord } from './own-record';
import type { Loop } from './loop';
import type { ResolvedWorkerOptions } from './worker-options';

/** What a companion may see of the worker. */
export interface Attended {
  readonly name: string;
  readonly manager: QueueManager;
  readonly connection: Connection;
  readonly options: ResolvedWorkerOptions;
  readonly loop: Pick<Loop, 'glance' | 'isOut' | 'running' | 'waiting'>;
}

export interface Companion {
  /** Stops it. Waits for the store for a few seconds at most; never rejects. */
  close(): Promise<void>;
}

export function startCompanions(worker: Attended): readonly Companion[] {
  const { manager, connection, options } = worker;
  // Undefined if the configuration turns metrics off, or no store keeps any.
  const operations = manager.configuration.metrics === false ? undefined : manager.operationsOf(connection);
  const companions: readonly (Companion | undefined)[] = [
    operations && new OwnRecord(worker, operations),
    JobHistories.start(manager, connection),
    // All workers of a process share them.
    options.schedule ? { close: manager.schedules.keep() } : undefined,
    operations && figuresOf(worker, operations),
  ];
  if (operations === undefined) warnOfBlindMonitors(worker);
  return companions.filter((companion) => companion !== undefined);
}

/** Stores the worker's figures and samples its queues. */
function figuresOf({ manager, connection, loop }: Attended, operations: OperationsConnection): Companion {
  const { logger, clock, counters, hooks, monitors } = manager;
  const limits = () => monitors.of(connection.name);
  const busy = (event: BusyEvent): void => void hooks.emit('busy', event);
  const sampler = new QueueSampler({ connection, operations, limits, busy });
  const isKnown = (): boolean => operations.name === connection.name && loop.isOut;
  return new FigureReporter({ connection, operations, counters, sampler, clock, logger, isKnown });
}

function warnOfBlindMonitors({ manager, connection: { name } }: Attended): void {
  const { configuration, logger, monitors } = manager;
  if (monitors.of(name).size === 0) return;
  const reason = configuration.metrics === false ? '`metrics` is false' : 'no connection keeps records';
  logger.warn({ connection: name }, `Queue.monitor() sees nothing of '${name}': ${reason}.`);
}

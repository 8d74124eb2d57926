/** The companion that stores a worker's figures and samples its queues. */
import { errorMessage } from '../base/exception-text';
import type { BusyEvent } from '../job/hook-events';
import { FigureReporter } from '../operations/figures/figure-reporter';
import { QueueSampler } from '../operations/figures/queue-sampler';
import type { Attended, Companion } from './companions';

/** Undefined if the configuration turns metrics off, or no store keeps any. */
export function startFigures({ manager, connection }: Attended): Companion | undefined {
  const { logger, clock, counters, hooks, monitors } = manager;
  const limits = () => monitors.of(connection.name);
  try {
    const operations = manager.configuration.metrics === false ? undefined : manager.operationsOf(connection);
    if (operations !== undefined) {
      const busy = (event: BusyEvent): void => void hooks.emit('busy', event);
      const sampler = new QueueSampler({ connection, operations, limits, busy });
      return new FigureReporter({ connection, operations, counters, sampler, clock, logger });
    }
    if (limits().size === 0) return undefined;
    const reason = manager.configuration.metrics === false ? '`metrics` is false' : 'no connection keeps records';
    logger.warn({ connection: connection.name }, `Queue.monitor() sees nothing of '${connection.name}': ${reason}.`);
  } catch (error) {
    logger.warn(
      { connection: connection.name },
      `No figures are kept for '${connection.name}': ${errorMessage(error)}`,
    );
  }
  return undefined;
}

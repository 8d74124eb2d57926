/** The connections whose queues are shown: those that can count their jobs. */
import type { QueueManager } from '../application/queue-manager';

export function watchedConnections(manager: QueueManager): readonly string[] {
  return manager.connectionNames().filter((name) => manager.driver(name).capabilities.counts);
}

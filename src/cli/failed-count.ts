/** How many failed jobs all connections keep, for a counter line. */
import type { QueueManager } from '../application/queue-manager';

export async function failedCount(manager: QueueManager, queue?: string): Promise<number> {
  const stores = new Set(manager.connectionNames().map((name) => manager.failedStoreFor(manager.driver(name))));
  const counts = await Promise.all([...stores].map(async (store) => store?.count(queue) ?? 0));
  return counts.reduce((sum, count) => sum + count, 0);
}

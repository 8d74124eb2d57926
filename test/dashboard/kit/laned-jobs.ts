/** Jobs with lanes, for pages that list these. */
import type { QueueManager } from '../../../src/application/queue-manager';
import { withTies } from '../../../src/payload/ties';
import { uuidv7 } from '../../../src/payload/uuid';

/** @param lanes how many jobs of each, of which one may be ready or running */
export async function pushInLanes(
  manager: QueueManager,
  queue: string,
  lanes: Readonly<Record<string, number>>,
): Promise<void> {
  for (const [key, count] of Object.entries(lanes)) {
    const ties = { lane: { key, running: 1, ordered: false } };
    const payload = (): string => withTies(`{"job":"onqueue","data":{},"id":"${uuidv7()}","attempts":0}`, ties);
    await manager.driver().push(
      queue,
      Array.from({ length: count }, () => ({ payload: payload(), ties })),
    );
  }
}

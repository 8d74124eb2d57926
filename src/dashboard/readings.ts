/** What several pages read. */
import type { QueueManager } from '../application/queue-manager';
import { isStoreAway } from '../connections/errors';
import type { Snapshot } from '../operations/snapshot';
import type { RunningWorker } from '../operations/worker-record';
import type { ScheduleListing } from '../schedule/schedules';
import { isUnrecorded, readOr } from './troubles';
import type { PageContext } from './view';

/** The connections whose queues are shown: those that can count their jobs. */
export function watchedConnections(manager: QueueManager): readonly string[] {
  return manager.connectionNames().filter((name) => manager.driver(name).capabilities.counts);
}

/** @param queue only this queue; default: all */
export function snapshotOf(connection: string, { manager, lookout }: PageContext, queue?: string): Promise<Snapshot> {
  const queues = queue === undefined ? undefined : [queue];
  const subject = `snapshot ${connection} ${queue ?? ''}`;
  return lookout.see(subject, () => manager.connection(connection).snapshot({ queues }));
}

/** For pages that show other things as well: an unreachable store takes only the schedules from them. */
export function schedulesOf({ manager, lookout }: PageContext): Promise<readonly ScheduleListing[]> {
  return readOr(() => lookout.see('schedule list', () => manager.schedules.list()), [], isStoreAway);
}

/** Undefined if no store keeps records of them. */
export function workersOf(
  connection: string,
  { manager, lookout }: PageContext,
): Promise<readonly RunningWorker[] | undefined> {
  const read = () => lookout.see(`workers ${connection}`, () => manager.connection(connection).workers());
  return readOr(read, undefined, isUnrecorded);
}

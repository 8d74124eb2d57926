/** Looks for one job by its id: where it waits, runs or has failed. */
import type { Connection } from '../connections/contract';
import { CapabilityError } from '../connections/errors';
import { type JobState, type ListedJob, listedFailure, listedJob, type SeenApplication } from './listed-job';

/** What is known of a job. Where its `state` is `unknown`, no more than these four. */
export interface FoundJob extends Partial<Omit<ListedJob, 'id' | 'connection' | 'state'>> {
  readonly id: string;
  readonly connection: string;
  /**
   * `unknown`: no job of this id waits, runs or has failed. It has ended, and nothing is kept of that; or it was cleared or forgotten;
   * or it was never sent to this connection.
   */
  readonly state: JobState | 'unknown';
  /**
   * False, with `unknown` alone: its store has so many jobs that it did not look at all of them, and this one may be among the others.
   * The queue, where it is known, makes the look go further.
   */
  readonly isSure: boolean;
}

/**
 * @param queue where it is known to be; absent: all queues are looked at
 * @throws CapabilityError the store cannot look for jobs, and it has not failed
 */
export async function findJob(
  connection: Connection,
  application: SeenApplication,
  id: string,
  queue?: string,
): Promise<FoundJob> {
  const { name } = connection;
  const waiting = await connection.find?.(id, queue);
  if (typeof waiting === 'object') return { ...listedJob(connection, application, waiting), id, isSure: true };
  const failed = await failedJob(connection, application, id, queue);
  if (failed !== undefined) return failed;
  if (connection.find === undefined) throw new CapabilityError(name, connection.driver, 'operations');
  return { id, connection: name, state: 'unknown', isSure: waiting !== 'unseen' };
}

/** The latest of those that have failed under this id. */
async function failedJob(
  connection: Connection,
  application: SeenApplication,
  id: string,
  queue: string | undefined,
): Promise<FoundJob | undefined> {
  const store = application.failed.storeFor(connection);
  const entries = (await store?.find(id)) ?? [];
  // One that keeps them for others as well is asked by each of those for its own alone.
  const isOwn = store === connection.failed;
  const [latest] = entries
    .filter(
      (entry) => (isOwn || entry.connection === connection.name) && (queue === undefined || entry.queue === queue),
    )
    .toSorted((a, b) => b.failedAt - a.failedAt);
  return latest && { ...listedFailure(application, latest), id, isSure: true };
}

/** What the commands for failed jobs share: how jobs are chosen, and how each of them is reached. */
import { ambiguousFailedJob, failedJobsOutOfReach } from '../application/failed/errors';
import type { FailedFilter } from '../application/failed/failed-filter';
import type { QueueManager } from '../application/queue-manager';
import type { Call } from './command';
import { errorText } from './error-text';
import { type Given, text, time, type ProjectFlags } from './flags';
import { keepingConnections, noteMemory } from './named-queues';

/** Failed jobs may have come from any connection. */
export const FROM_CONNECTION = text('<name>', 'only of those that came from this connection');

export const OF_BATCH = text('<id>', 'only those of this batch');

export const FILTER_FLAGS = {
  queue: text('<name>', 'only those of this queue'),
  connection: FROM_CONNECTION,
  name: text('<name>', 'only jobs of this name'),
  batch: OF_BATCH,
  error: text('<text>', 'only those with this text in their error'),
  olderThan: time('only those that failed longer ago than this'),
};

export type FailedFlags = Given<typeof FILTER_FLAGS> & ProjectFlags;

/** Undefined: all are meant. */
export function filterOf({ queue, connection, name, batch, error, olderThan }: FailedFlags): FailedFilter | undefined {
  const filter = { queue, connection, name, batch, error, olderThan };
  return Object.values(filter).some((value) => value !== undefined) ? filter : undefined;
}

/** Refuses a line that chooses nothing, and one that gives ids and further flags to choose by. */
export function checkChoice(call: Call<FailedFlags>, ids: readonly string[]): void {
  const { name, batch, error, olderThan } = call.flags;
  if (ids.length === 0 && filterOf(call.flags) === undefined) {
    call.refuse('say which: ids, as onqueue failed lists them, or --queue=mail, --error=ECONNREFUSED and the like.');
  }
  const isChosen = [name, batch, error, olderThan].some((value) => value !== undefined);
  if (ids.length > 0 && isChosen) call.refuse('give ids, or flags that choose among all: not both.');
}

/** Opens the project for failed jobs, which are those of all connections. */
export async function openForFailed(call: Call<FailedFlags>): Promise<QueueManager> {
  const manager = await call.open();
  noteMemory(call, manager, keepingConnections(manager));
  return manager;
}

/** How many all connections keep, for a counter line. */
export async function failedCount(manager: QueueManager, queue?: string): Promise<number> {
  const stores = new Set(manager.connectionNames().map((name) => manager.failed.storeFor(manager.driver(name))));
  const counts = await Promise.all([...stores].map(async (store) => store?.count(queue) ?? 0));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** What a command does with failed jobs: with all that its flags choose, or with one. */
export interface FailedAction {
  all(): Promise<number>;
  /** Gives false where there is no such job. */
  one(id: string): Promise<boolean>;
  /** What to say of an id that is not there. */
  unknown(id: string): string;
}

/**
 * Carries it out for the ids that were given, or else for all, and says of how many. An id that is not there keeps no other from
 * its turn.
 *
 * @param done what was done to them, as the JSON document calls it
 * @param line says it to people
 */
export async function actOnFailed(
  call: Call,
  ids: readonly string[],
  done: string,
  line: (count: number) => string,
  action: FailedAction,
): Promise<void> {
  const unknown: string[] = [];
  for (const id of ids) if (!(await actOnOne(call, id, action))) unknown.push(id);
  const count = ids.length === 0 ? await action.all() : ids.length - unknown.length;
  call.output.result({ [done]: count, unknown }, line(count));
}

async function actOnOne(call: Call, id: string, action: FailedAction): Promise<boolean> {
  try {
    if (await action.one(id)) return true;
    call.fail(action.unknown(id));
  } catch (error) {
    // The next one may be on a connection that can be asked, and there once.
    if (!(failedJobsOutOfReach.is(error) || ambiguousFailedJob.is(error))) throw error;
    call.fail(errorText(error));
  }
  return false;
}

/** Carries `work` out, with a line that counts down how many of the queue, or of all, are left. */
export function counting(
  { flags, output }: Call<{ readonly queue?: string | undefined }>,
  manager: QueueManager,
  doing: string,
  work: () => Promise<number>,
): Promise<number> {
  return output.counting(doing, () => failedCount(manager, flags.queue), work);
}

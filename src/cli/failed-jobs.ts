/** What the commands for failed jobs share: how jobs are chosen, and how each of them is reached. */
import { ambiguousFailedJob, failedJobsOutOfReach } from '../application/failed/errors';
import type { FailedJob } from '../application/failed/failed-job';
import type { FailedFilter } from '../application/failed/failed-filter';
import type { QueueManager } from '../application/queue-manager';
import type { Call } from './command';
import { errorText } from './error-text';
import { listFailed, LISTED } from './failed-list';
import { type Given, on, type ProjectFlags, text, time } from './flags';
import { keepingConnections, noteMemory } from './named-queues';
import { fromLeft, showingProgress } from './progress';
import { counted } from './table';

export const FILTER_FLAGS = {
  queue: text('<name>', 'only those of this queue'),
  connection: text('<name>', 'only of those that came from this connection'),
  name: text('<job>', 'only jobs of this name'),
  batch: text('<id>', 'only those of this batch'),
  error: text('<text>', 'only those with this text in their error'),
  olderThan: time('only those that failed longer ago than this'),
};

export type FailedFlags = Given<typeof FILTER_FLAGS> & ProjectFlags;

export const DRY_RUN = on('only say how many these are, and which');

/** From one place of the list to another, both among them. */
export interface Places {
  readonly offset: number;
  readonly limit: number;
}

/** Undefined: all are meant. */
export function filterOf({ queue, connection, name, batch, error, olderThan }: FailedFlags): FailedFilter | undefined {
  const filter = { queue, connection, name, batch, error, olderThan };
  return Object.values(filter).some((value) => value !== undefined) ? filter : undefined;
}

/** Refuses a line that chooses nothing, and one that gives ids and further flags to choose by. */
export function checkChoice(call: Call<FailedFlags>, ids: readonly string[]): void {
  if (ids.length > 0) checkPlace(call);
  else if (filterOf(call.flags) === undefined) {
    call.refuse('say which: ids, as onqueue failed lists them, or --queue=mail, --error=ECONNREFUSED and the like.');
  }
}

/** Of an id, flags may say where it failed, and nothing else. */
export function checkPlace(call: Call<FailedFlags>): void {
  const { name, batch, error, olderThan } = call.flags;
  const isChosen = [name, batch, error, olderThan].some((value) => value !== undefined);
  if (isChosen) call.refuse('give ids, or flags that choose among all: not both.');
}

/** Opens the project for failed jobs, which are those of all connections. */
export async function openForFailed(call: Call<FailedFlags>): Promise<QueueManager> {
  const manager = await call.open();
  noteMemory(call, manager, keepingConnections(manager));
  return manager;
}

/** Those that fit, newest first; a connection that is away is named. */
export function chosenJobs(
  call: Call,
  { failed }: QueueManager,
  filter: FailedFilter | undefined,
  places: Places,
): Promise<readonly FailedJob[]> {
  const unreachable = (name: string, { message }: Error): void =>
    call.fail(`The failed jobs of ${name} are not among these: ${message}`);
  return failed.list({ ...filter, ...places, unreachable });
}

/** What a command does with failed jobs. */
export interface FailedAction {
  /** `retried`: as the JSON document calls it. */
  readonly done: string;
  /** Says to people of how many it was done. */
  line(count: number): string;
  /** With all that its flags choose. */
  all(): Promise<number>;
  /** With one. Gives false where there is no such job. */
  one(id: string): Promise<boolean>;
  /** What to say of an id that is not there. */
  unknown(id: string): string;
}

/**
 * Carries it out for the ids that were given, or else for all, and says of how many. An id that is not there keeps no other from
 * its turn.
 */
export async function actOnFailed(call: Call, ids: readonly string[], action: FailedAction): Promise<void> {
  const unknown: string[] = [];
  for (const id of ids) if (!(await reach(call, id, action, () => action.one(id)))) unknown.push(id);
  const count = ids.length === 0 ? await action.all() : ids.length - unknown.length;
  call.output.result({ [action.done]: count, unknown }, action.line(count));
}

/** Says what `actOnFailed` would do, and does nothing. */
export async function tellFailed(
  call: Call<FailedFlags>,
  ids: readonly string[],
  manager: QueueManager,
  action: Pick<FailedAction, 'unknown'>,
  places?: Places,
): Promise<void> {
  if (ids.length === 0) return tellChosen(call, manager, filterOf(call.flags), places);
  const jobs: FailedJob[] = [];
  const unknown: string[] = [];
  for (const id of ids) {
    const job = await reach(call, id, action, () => manager.failed.get(id, call.flags));
    if (job === undefined || job === false) unknown.push(id);
    else jobs.push(job);
  }
  tellJobs(call, { jobs, unknown, count: jobs.length });
}

/** Says with which it would be done: those that fit, or those at these places of them. */
export async function tellChosen(
  call: Call,
  manager: QueueManager,
  filter: FailedFilter | undefined,
  places?: Places,
): Promise<void> {
  const jobs = await chosenJobs(call, manager, filter, places ?? { offset: 0, limit: LISTED });
  const isWhole = places !== undefined || jobs.length < LISTED;
  const count = isWhole ? jobs.length : await manager.failed.count(filter);
  tellJobs(call, { jobs, unknown: [], count, batch: filter?.batch });
}

interface Told {
  readonly jobs: readonly FailedJob[];
  /** Ids of which there is no job. */
  readonly unknown: readonly string[];
  /** The jobs, and those that are not listed. */
  readonly count: number;
  /** All are of this one. */
  readonly batch?: string | undefined;
}

function tellJobs({ output }: Call, { jobs, unknown, count, batch }: Told): void {
  output.result({ dryRun: true, count, unknown, jobs });
  if (jobs.length > 0) listFailed(output, jobs, batch !== undefined);
  if (count > jobs.length && !output.isJson) output.note(`There are more than these ${jobs.length}.`);
  output.line(`Without --dry-run it would be ${counted(count, 'failed job')}.`);
}

/** Gives false, and says so, where there is none. */
async function reach<Found>(
  call: Call,
  id: string,
  { unknown }: Pick<FailedAction, 'unknown'>,
  look: () => Promise<Found>,
): Promise<Found | false> {
  try {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    call.fail(unknown(id));
  } catch (error) {
    // The next one may be on a connection that can be asked, and there once.
    if (!(failedJobsOutOfReach.is(error) || ambiguousFailedJob.is(error))) throw error;
    call.fail(errorText(error));
  }
  return false;
}

/** Where there are more, nobody waits until it is known how many of them fit. */
const MOST_COUNTED = 20_000;

/** Carries `work` out with those that the flags choose, and shows how far it is. */
export function sweeping(
  call: Call<FailedFlags>,
  manager: QueueManager,
  doing: string,
  work: () => Promise<number>,
): Promise<number> {
  const { queue, ...others } = filterOf(call.flags) ?? {};
  const left = fromLeft(() => manager.failed.kept(queue));
  if (Object.values(others).every((value) => value === undefined)) return showingProgress(call, doing, work, left);
  let total: Promise<number> | undefined;
  return showingProgress(call, doing, work, async () => {
    // What is gone from the store was ours: it is not asked each time which of them fit.
    const { done, total: all = 0 } = await left();
    if (all > MOST_COUNTED) return { done };
    total ??= manager.failed.count({ queue, ...others });
    return { done, total: await total };
  });
}

/** Looks for one job by its id: where it waits, runs or has failed, and what is kept of its attempts. */
import type { Connection, PlacedJob } from '../connections/contract';
import { CapabilityError } from '../connections/errors';
import { fieldsIn } from '../connections/record-store';
import type { Progress } from '../job/progress';
import {
  type Attempt,
  attemptOf,
  COMPLETED,
  HISTORY,
  type JobHistory,
  LONGEST_ID,
  PROGRESS,
  readHistory,
} from './history/attempt';
import { readCompleted, RESULTS } from './results/kept-end';
import {
  type ListedFailure,
  type ListedJob,
  listedFailure,
  listedJob,
  type SeenApplication,
  type WaitingJob,
} from './listed-job';
import { momentOfId } from '../payload/uuid';

/** The progress that a job has reported. */
export interface FoundProgress extends Progress {
  /** By the worker's clock. */
  readonly at: Date;
}

/** Known of a job whatever its state is. */
interface Told {
  readonly id: string;
  readonly connection: string;
  /** What is kept of its attempts, oldest first: those that failed, timed out, crashed, were lost or cancelled. */
  readonly history: readonly Attempt[];
  /** What it reported last, within the last hour. */
  readonly progress?: FoundProgress | undefined;
}

type Untold<Names extends string> = { readonly [Name in Names]?: undefined };

/** Known of an existing job: everything that a list shows. */
interface There extends Told, Untold<'completedAt'> {
  readonly isSure: true;
}

/** Kept with `history: { completed }` in the configuration, or `keepResult` of its class, for the time set there. */
interface CompletedJob
  extends Told, Pick<ListedJob, 'name' | 'queue'>, Untold<Exclude<Detail, 'createdAt' | 'attempts'>> {
  readonly state: 'completed';
  readonly isSure: true;
  /** When its id was created, by its dispatcher's clock. Undefined if the id does not tell. */
  readonly createdAt?: Date | undefined;
  readonly attempts?: number | undefined;
  /** By the worker's clock. */
  readonly completedAt?: Date | undefined;
}

type Detail = Exclude<keyof ListedJob, keyof Told | 'state' | 'name' | 'queue'>;

/**
 * No job with this id waits, runs or has failed: it has ended without a record, was cleared or forgotten, or was never sent to
 * this connection.
 */
interface UnknownJob extends Told, Untold<Detail | 'name' | 'queue' | 'completedAt'> {
  readonly state: 'unknown';
  /** False if its store has so many jobs that not all were searched, so that it may be among the others. */
  readonly isSure: boolean;
}

/** What is known of a job. Its `state` says what that is; for `unknown`, only the history. */
export type FoundJob = FoundWaiting | FoundFailure | CompletedJob | UnknownJob;

type FoundWaiting = There & Omit<WaitingJob, keyof Told>;
type FoundFailure = There & Omit<ListedFailure, keyof Told>;

/**
 * @param queue the queue that it is known to be in; absent: searches all queues
 * @throws CapabilityError the store cannot look for jobs, and the job has not failed
 */
export async function findJob(
  connection: Connection,
  application: SeenApplication,
  id: string,
  queue?: string,
): Promise<FoundJob> {
  return foundJob(connection, application, id, queue, await connection.find?.(id, queue));
}

/** @param waiting what its store has found */
export async function foundJob(
  connection: Connection,
  application: SeenApplication,
  id: string,
  queue: string | undefined,
  waiting: PlacedJob | 'unseen' | undefined,
): Promise<FoundJob> {
  const { name } = connection;
  const found =
    typeof waiting === 'object'
      ? listedJob(connection, application, waiting)
      : await failedJob(connection, application, id, queue);
  if (found === undefined && connection.find === undefined)
    throw new CapabilityError(name, connection.driver, 'operations');
  const kept = await keptOf(connection, application, id);
  if (found !== undefined) return { ...found, id, isSure: true, ...kept.told };
  const { completed } = kept;
  if (completed !== undefined && (queue === undefined || completed.queue === queue))
    return { ...endOf(completed), createdAt: createdAt(id), id, connection: name, isSure: true, ...kept.told };
  // A result is kept before the job ends, so if the job may be among those not searched, the result proves nothing.
  const given = waiting === 'unseen' ? undefined : await givenBy(connection, application, id);
  if (given !== undefined && (queue === undefined || given.queue === queue))
    return {
      id,
      createdAt: createdAt(id),
      name: given.job,
      connection: name,
      queue: given.queue,
      state: 'completed',
      isSure: true,
      ...kept.told,
    };
  return { id, connection: name, state: 'unknown', isSure: waiting !== 'unseen', ...kept.told };
}

/** The job of this connection whose result is kept. */
async function givenBy(
  connection: Connection,
  application: SeenApplication,
  id: string,
): Promise<ReturnType<typeof readCompleted>> {
  if (id.length > LONGEST_ID) return undefined;
  const text = await application.operationsOf(connection)?.records.get(RESULTS, id);
  const read = text === undefined ? undefined : readCompleted(text);
  return read?.connection === connection.name ? read : undefined;
}

interface Kept {
  readonly told: Pick<FoundJob, 'history' | 'progress'>;
  readonly completed: JobHistory | undefined;
}

async function keptOf(connection: Connection, application: SeenApplication, id: string): Promise<Kept> {
  const records = application.operationsOf(connection)?.records;
  if (records === undefined || id.length > LONGEST_ID) return { told: { history: [] }, completed: undefined };
  const [history, completed] = (await Promise.all([HISTORY, COMPLETED].map((kind) => records.get(kind, id)))).map(
    (text) => {
      const read = readHistory(text);
      // One store may keep records of several connections.
      return read?.connection === connection.name ? read : undefined;
    },
  );
  const progress = readProgress(await records.get(PROGRESS, id));
  const attempts = [...(history?.attempts ?? []), ...(completed?.attempts ?? [])].map(attemptOf);
  return { told: { history: attempts, progress }, completed };
}

function endOf({ name, queue, attempts }: JobHistory): Omit<CompletedJob, keyof Told | 'isSure'> {
  const last = attempts.at(-1);
  const end = { name, queue, state: 'completed' } as const;
  return last === undefined ? end : { ...end, attempts: last.attempt, completedAt: new Date(last.at) };
}

function createdAt(id: string): Date | undefined {
  const at = momentOfId(id);
  return at === undefined ? undefined : new Date(at);
}

function readProgress(text: string | undefined): FoundProgress | undefined {
  const { value, text: told, at } = (text === undefined ? undefined : fieldsIn(text)) ?? {};
  if (typeof value !== 'number' || typeof at !== 'number') return undefined;
  return { value, text: typeof told === 'string' ? told : undefined, at: new Date(at) };
}

/** The latest failure with this id. */
async function failedJob(
  connection: Connection,
  application: SeenApplication,
  id: string,
  queue: string | undefined,
): Promise<ListedFailure | undefined> {
  const store = application.failed.storeFor(connection);
  const entries = (await store?.find(id)) ?? [];
  // A store that also keeps failed jobs of other connections returns only those of the asking connection to each.
  const isOwn = store === connection.failed;
  const [latest] = entries
    .filter(
      (entry) => (isOwn || entry.connection === connection.name) && (queue === undefined || entry.queue === queue),
    )
    .toSorted((a, b) => b.failedAt - a.failedAt);
  return latest && listedFailure(application, latest);
}

/** Looks for jobs: for one by its id, with what is kept of its attempts; or for those of a queue by state, page by page. */
import { failedStoreOf, type Application } from '../connections/application';
import type { Connection, PlacedJob, WaitingState } from '../connections/contract';
import { CapabilityError } from '../connections/errors';
import { LONGEST_ID, recordsOf, type RecordStore } from '../connections/record-store';
import { sleep, type Milliseconds } from '../base/clock';
import type { ChainedJob, Progress } from '../job/job-context';
import {
  attemptOf,
  COMPLETED,
  completedKept,
  HISTORY,
  PROGRESS,
  readHistory,
  type Attempt,
  type JobHistory,
} from './history/attempt';
import { fenceIn } from '../payload/counters';
import { LINES, readLines, type LogLine } from './history/lines';
import { stepsOf, type FoundStep } from './checkpoints';
import { readCompleted, RESULTS } from './kept-end';
import {
  listedFailure,
  listedJob,
  ownEntries,
  createdAt,
  type ListedFailure,
  type ListedJob,
  type WaitingJob,
  type JobState,
  type ListedState,
} from './listed-job';
import { CARRIER, type Chain, NO_CHAIN, readCarried, readChain } from '../payload/chain';
import { HANDLER_WITH_FOLLOWERS } from '../payload/payload-text';
import { readTies } from '../payload/ties';
import { fieldsIn, isRecord } from '../payload/values';
import { hash } from 'node:crypto';
import { invalidListing } from './errors';

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
  /** What it reported last, within the last hour: its current attempt, or the one that completed it. Earlier ones count if it keeps steps. */
  readonly progress?: FoundProgress | undefined;
  /** What it has logged, oldest first: the last 200 lines of all its attempts. Undefined if none are kept. */
  readonly lines?: readonly LogLine[] | undefined;
  /** The steps that it has done, oldest first, for its next attempt. Undefined if none are kept. */
  readonly steps?: readonly FoundStep[] | undefined;
}

type Untold<Names extends string> = { readonly [Name in Names]?: undefined };

/** Known of an existing job: everything that a list shows. */
interface There extends Told, Untold<'completedAt' | 'followedBy'> {
  readonly isSure: true;
}

/** Kept for an hour, or the time that `history.completed` of the configuration or `keepResult` of its class says. */
interface CompletedJob
  extends Told, Pick<ListedJob, 'name' | 'queue'>, Untold<Exclude<Detail, 'createdAt' | 'attempts' | 'completedAt'>> {
  readonly state: 'completed';
  readonly isSure: true;
  /** When its id was created, by its dispatcher's clock. Undefined if the id does not tell. */
  readonly createdAt?: Date | undefined;
  readonly attempts?: number | undefined;
  /** By the worker's clock. */
  readonly completedAt?: Date | undefined;
  /** The first 50 jobs that followed it in its chain. Undefined if none did, or this is not known any more. */
  readonly followedBy?: readonly ChainedJob[] | undefined;
}

type Detail = Exclude<keyof ListedJob, keyof Told | 'state' | 'name' | 'queue'>;

/**
 * No job with this id waits, runs or has failed: it has ended without a record, was cleared or forgotten, or was never sent to
 * this connection.
 */
interface UnknownJob extends Told, Untold<Detail | 'completedAt' | 'followedBy'> {
  readonly state: 'unknown';
  /** As its history says. Undefined if none is kept. */
  readonly name?: string | undefined;
  readonly queue?: string | undefined;
  /** False if its store has so many jobs that not all were searched, so that it may be among the others. */
  readonly isSure: boolean;
}

/** What is known of a job. Its `state` says what that is; for `unknown`, only the history. */
export type FoundJob = FoundWaiting | FoundFailure | CompletedJob | UnknownJob;

type FoundWaiting = There & Omit<WaitingJob, keyof Told>;
type FoundFailure = There & Omit<ListedFailure, keyof Told>;

/**
 * @param queue the queue that it is known to be in; absent: searches all queues
 * @param isRevealed whether its data are opened, and nothing in them is masked
 * @throws CapabilityError the store cannot look for jobs, and the job has neither failed nor completed
 */
export async function findJob(
  connection: Connection,
  application: Application,
  id: string,
  queue?: string,
  isRevealed = false,
): Promise<FoundJob> {
  const look = async (): Promise<FoundJob> =>
    foundJob(connection, application, id, queue, await connection.queues.find?.(id, queue), isRevealed);
  const found = await look();
  const isBetween = found.state === 'unknown' && found.isSure && remembersCompleted(application, connection);
  // In a test, whoever would move the clock may be waiting for this.
  if (!isBetween || application.clock.isStill === true) return found;
  await sleep(application.clock, WRITTEN_WITHIN);
  return look();
}

/** When a worker has written that a job has completed: between its end and that, nobody knows of it. */
const WRITTEN_WITHIN: Milliseconds = 200;

/** @param waiting what its store has found */
export async function foundJob(
  connection: Connection,
  application: Application,
  id: string,
  queue: string | undefined,
  waiting: PlacedJob | 'unseen' | undefined,
  isRevealed = false,
): Promise<FoundJob> {
  const { name } = connection;
  const found =
    typeof waiting === 'object'
      ? await listedJob(connection, application, waiting, isRevealed)
      : await failedJob(connection, application, id, queue, isRevealed);
  const records = id.length > LONGEST_ID ? undefined : application.operationsOf(connection)?.records;
  const at = typeof waiting === 'object' ? waiting : undefined;
  const isCurrent = (fence: number): boolean =>
    found === undefined || (at?.state === 'reserved' && fence === fenceIn(at.payload));
  const { told, completed, was } = await keptIn(records, name, id, isCurrent);
  if (found !== undefined) return { ...found, id, isSure: true, ...told };
  const meant = (end: End | undefined): End | undefined =>
    queue === undefined || end?.queue === queue ? end : undefined;
  // A result is kept before the job ends, so if the job may be among those not searched, the result proves nothing.
  const end = meant(completed) ?? (waiting === 'unseen' ? undefined : meant(await givenIn(records, name, id)));
  if (end !== undefined)
    return { ...end, createdAt: createdAt(id), id, connection: name, state: 'completed', isSure: true, ...told };
  if (connection.queues.find === undefined) throw new CapabilityError(name, connection.driver, 'find');
  return { ...was, id, connection: name, state: 'unknown', isSure: waiting !== 'unseen', ...told };
}

/** What is kept of the end of a completed job. */
type End = Pick<CompletedJob, 'name' | 'queue' | 'attempts' | 'completedAt' | 'followedBy'>;

/** The job of this connection whose result is kept. */
async function givenIn(records: RecordStore | undefined, connection: string, id: string): Promise<End | undefined> {
  const read = readCompleted(await records?.get(RESULTS, id));
  return read?.connection === connection ? { name: read.job, queue: read.queue } : undefined;
}

interface Kept {
  readonly told: Pick<FoundJob, 'history' | 'progress' | 'steps' | 'lines'>;
  readonly completed?: End | undefined;
  /** What its history says that it was. */
  readonly was?: Pick<JobHistory, 'name' | 'queue'> | undefined;
}

async function keptIn(
  records: RecordStore | undefined,
  connection: string,
  id: string,
  isCurrent: (fence: number) => boolean,
): Promise<Kept> {
  if (records === undefined) return { told: { history: [] } };
  const kept = (kind: string): Promise<string | undefined> => records.get(kind, id);
  const [steps, lines, progress, ...texts] = await Promise.all([
    stepsOf(records, connection, id),
    kept(LINES),
    kept(PROGRESS),
    kept(HISTORY),
    kept(COMPLETED),
  ]);
  // One store may keep records of several connections.
  const [history, completed] = texts
    .map(readHistory)
    .map((read) => (read?.connection === connection ? read : undefined));
  const attempts = [...(history?.attempts ?? []), ...(completed?.attempts ?? [])].map(attemptOf);
  // An attempt without success leaves no progress, unless the next one goes on from the steps that it has done.
  const stands = (fence: number): boolean =>
    steps !== undefined || (isCurrent(fence) && history?.attempts.at(-1)?.fence !== fence);
  const told = { history: attempts, progress: readProgress(progress, stands), steps, lines: readLines(lines) };
  const was = history && { name: history.name, queue: history.queue };
  return { told, completed: completed && endOf(completed), was };
}

function endOf({ name, queue, chain, attempts }: JobHistory): End {
  const last = attempts.at(-1);
  return {
    name,
    queue,
    ...(chain && { followedBy: chain }),
    ...(last && { attempts: last.attempt, completedAt: new Date(last.at) }),
  };
}

/** @param stands whether what a run with this fence has reported still counts; one that an earlier version ran does */
export function readProgress(text: string | undefined, stands: (fence: number) => boolean): FoundProgress | undefined {
  const { value, text: told, at, fence } = fieldsIn(text) ?? {};
  if (typeof value !== 'number' || typeof at !== 'number') return undefined;
  if (typeof fence === 'number' && !stands(fence)) return undefined;
  return { value, text: typeof told === 'string' ? told : undefined, at: new Date(at) };
}

/** What follows the job, as its payload says. Never throws: a worker will report what is wrong with it. */
export function chainOf({ name, payload }: FoundJob): Chain {
  const fields = isRecord(payload) ? payload : {};
  try {
    if (name === CARRIER) return { links: readCarried(fields['data']) };
    return fields['job'] === HANDLER_WITH_FOLLOWERS ? readChain(fields) : NO_CHAIN;
  } catch {
    return NO_CHAIN;
  }
}

/** The latest failure with this id. */
async function failedJob(
  connection: Connection,
  application: Application,
  id: string,
  queue: string | undefined,
  isRevealed: boolean,
): Promise<ListedFailure | undefined> {
  const entries = (await failedStoreOf(connection, application)?.find(id)) ?? [];
  const [latest] = ownEntries(connection, application, entries)
    .filter((entry) => queue === undefined || entry.queue === queue)
    .toSorted((a, b) => b.failedAt - a.failedAt);
  return latest && listedFailure(application, latest, isRevealed);
}

export interface ListOptions {
  /** Jobs in this state. Default `ready`. */
  readonly state?: ListedState | undefined;
  /** Continue after this place: the `next` of the previous page. */
  readonly after?: string | undefined;
  /** How many jobs at most, from 1 to 100; a page of large jobs may have fewer. Default 100. */
  readonly limit?: number | undefined;
}

export interface JobPage {
  /** Waiting and running jobs in the order in which they come up; failed and completed jobs newest first. */
  readonly jobs: readonly ListedJob[];
  /**
   * Where the next page begins. Undefined if this was the last one. Jobs that come and go between two pages may be missed or
   * appear twice.
   */
  readonly next: string | undefined;
}

/** The most that a store lists at once. */
const MOST = 100;

export const JOB_STATES: readonly JobState[] = ['ready', 'delayed', 'running', 'failed'];
export const LISTED_STATES: readonly ListedState[] = [...JOB_STATES, 'completed'];

/** @throws E_INVALID_LISTING; CapabilityError the store cannot list them */
export async function listJobs(
  connection: Connection,
  application: Application,
  queue: string,
  options: ListOptions,
): Promise<JobPage> {
  const { state, after, limit } = checked(options);
  const place = after === undefined ? '' : placeIn(queue, state, after);
  const asked = { connection, application, queue, place, limit };
  const found =
    state === 'failed'
      ? failures(asked)
      : state === 'completed'
        ? completed(asked)
        : waiting(asked, state === 'running' ? 'reserved' : state);
  const { jobs, next } = await found;
  return { jobs, next: next && nextOf(queue, state, next) };
}

/** What a page is to show. */
interface Asked {
  readonly connection: Connection;
  readonly application: Application;
  readonly queue: string;
  /** Where the page before it ended. Empty: it is the first. */
  readonly place: string;
  readonly limit: number;
}

async function waiting({ connection, application, queue, place, limit }: Asked, state: WaitingState): Promise<JobPage> {
  const { queues } = connection;
  if (queues.peek === undefined) throw new CapabilityError(connection.name, connection.driver, 'peek');
  const peeked = await queues.peek(queue, state, limit, place || undefined);
  const jobs = peeked.map((job) => listedJob(connection, application, { ...job, queue, state }));
  return { jobs: await Promise.all(jobs), next: peeked.at(-1)?.place };
}

async function failures({ connection, application, queue, place, limit }: Asked): Promise<JobPage> {
  const store = failedStoreOf(connection, application);
  if (store === undefined) throw new CapabilityError(connection.name, connection.driver, 'failed');
  const entries = await store.list({ queue, limit, after: place || undefined });
  return {
    jobs: ownEntries(connection, application, entries).map((entry) => listedFailure(application, entry)),
    next: entries.length < limit ? undefined : entries.at(-1)?.place,
  };
}

/** Whether workers of this connection remember completed jobs. */
export function remembersCompleted(application: Application, connection: Connection): boolean {
  return completedKept(application) !== undefined && application.operationsOf(connection) !== undefined;
}

/** Records that one page looks at: those of all queues are in one list. */
const MOST_SEARCHED = 2000;

async function completed({ connection, application, queue, place, limit }: Asked): Promise<JobPage> {
  if (completedKept(application) === undefined) throw invalidListing('state', 'completed', NOT_KEPT);
  const { records } = application.neededOperationsOf(connection);
  const jobs: ListedJob[] = [];
  let next = Number(place);
  const to = next + MOST_SEARCHED;
  for await (const { id, value } of recordsOf(records, COMPLETED, { page: MOST, from: next, to })) {
    next += 1;
    const read = readHistory(value);
    if (read?.connection !== connection.name || read.queue !== queue) continue;
    jobs.push(listedEnd(id, read));
    if (jobs.length === limit) return { jobs, next: String(next) };
  }
  return { jobs, next: next < to ? undefined : String(next) };
}

const NOT_KEPT = "The configuration turns off that they are kept; write history: { completed: '1h' } in it.";

function listedEnd(id: string, history: JobHistory): ListedJob {
  const { connection } = history;
  const { attempts = 0, ...end } = endOf(history);
  const unknown = { tries: undefined, batch: undefined, payload: undefined };
  return { ...end, ...unknown, id, connection, attempts, state: 'completed', createdAt: createdAt(id) };
}

function checked({ state = 'ready', after, limit = MOST }: ListOptions) {
  if (!LISTED_STATES.includes(state)) throw invalidListing('state', state, `Give one of ${LISTED_STATES.join(', ')}.`);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MOST)
    throw invalidListing('limit', limit, `Give a whole number from 1 to ${MOST}.`);
  return { state, limit, after };
}

/** The place with a checksum, because only the store knows what the place means, and a mistyped one could lead anywhere. */
function nextOf(queue: string, state: ListedState, place: string): string {
  const mark = hash('sha256', JSON.stringify([queue, state, place]), 'base64url').slice(0, 6);
  return `${state}:${place}:${mark}`;
}

/** @throws E_INVALID_LISTING */
function placeIn(queue: string, state: ListedState, after: unknown): string {
  const place = typeof after === 'string' ? after.slice(state.length + 1, after.lastIndexOf(':')) : '';
  if (nextOf(queue, state, place) === after) return place;
  throw invalidListing('after', after, `Give the unchanged \`next\` of a page of ${state} jobs of '${queue}'.`);
}

/**
 * Why a job that is ready waits although workers are free: its queue or its lane is full, or its lane is paused. A clause; undefined if
 * there is no such reason.
 */
export async function fullness(
  { lanes, queues, control }: Connection,
  { state, queue, payload }: Pick<FoundJob, 'state' | 'queue' | 'payload'>,
): Promise<string | undefined> {
  if (state !== 'ready' || queue === undefined || payload === undefined) return undefined;
  // A text that no worker can read is shown as such.
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  const key = readTies(Buffer.from(text))?.lane?.key;
  const lane = key === undefined ? undefined : await lanes?.find(queue, key);
  if (lane !== undefined && lane.held > 0) {
    if (lane.paused) return `its lane ${lane.lane} is paused`;
    // Ready jobs of a lane have a place in it too, so that this one may be among them.
    const { inside, running, held } = lane;
    if (inside >= running)
      return `its lane ${lane.lane} is full: ${inside} of ${running} running or next, and ${held} held`;
  }
  const limit = (await control?.limits?.())?.find((one) => one.queue === queue);
  if (limit === undefined) return undefined;
  const { reserved } = await queues.counts(queue);
  return reserved < limit.running ? undefined : `its queue is full: ${reserved} of ${limit.running} running`;
}

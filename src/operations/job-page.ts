/** Lists the jobs of a queue by state, page by page. */
import { hash } from 'node:crypto';
import { CapabilityError } from '../connections/errors';
import type { Connection, WaitingState } from '../connections/contract';
import { invalidListing } from './errors';
import {
  type JobState,
  type ListedJob,
  listedFailure,
  listedJob,
  ownEntries,
  type SeenApplication,
} from './listed-job';

export interface ListOptions {
  /** Jobs in this state. Default `ready`. */
  readonly state?: JobState | undefined;
  /** Continue after this place: the `next` of the previous page. */
  readonly after?: string | undefined;
  /** How many jobs at most, from 1 to 100; a page of large jobs may have fewer. Default 100. */
  readonly limit?: number | undefined;
}

export interface JobPage {
  /** Waiting and running jobs in the order in which they come up; failed jobs newest first. */
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

/** @throws E_INVALID_LISTING; CapabilityError the store cannot list them */
export async function listJobs(
  connection: Connection,
  application: SeenApplication,
  queue: string,
  options: ListOptions,
): Promise<JobPage> {
  const { state, after, limit } = checked(options);
  const place = after === undefined ? '' : placeIn(queue, state, after);
  const found =
    state === 'failed'
      ? await failures(connection, application, queue, place, limit)
      : await waiting(connection, application, queue, state === 'running' ? 'reserved' : state, place, limit);
  return { jobs: found.jobs, next: found.next && nextOf(queue, state, found.next) };
}

async function waiting(
  connection: Connection,
  application: SeenApplication,
  queue: string,
  state: WaitingState,
  place: string,
  limit: number,
): Promise<JobPage> {
  const { peek, operations } = connection.capabilities;
  if (!peek) throw new CapabilityError(connection.name, connection.driver, 'peek');
  // Its pages cannot continue after a place.
  if (place !== '' && operations !== true) throw new CapabilityError(connection.name, connection.driver, 'operations');
  const peeked = await connection.peek(queue, state, limit, place || undefined);
  const jobs = peeked.map((job) => listedJob(connection, application, { ...job, queue, state }));
  return { jobs: await Promise.all(jobs), next: peeked.at(-1)?.place };
}

async function failures(
  connection: Connection,
  application: SeenApplication,
  queue: string,
  place: string,
  limit: number,
): Promise<JobPage> {
  const store = application.failed.storeFor(connection);
  if (store === undefined) throw new CapabilityError(connection.name, connection.driver, 'failed');
  const entries = await store.list({ queue, limit, after: place || undefined });
  return {
    jobs: ownEntries(connection, application, entries).map((entry) => listedFailure(application, entry)),
    next: entries.length < limit ? undefined : entries.at(-1)?.place,
  };
}

function checked({ state = 'ready', after, limit = MOST }: ListOptions) {
  if (!JOB_STATES.includes(state)) throw invalidListing('state', state, `Give one of ${JOB_STATES.join(', ')}.`);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MOST)
    throw invalidListing('limit', limit, `Give a whole number from 1 to ${MOST}.`);
  return { state, limit, after };
}

/** The place with a checksum, because only the store knows what the place means, and a mistyped one could lead anywhere. */
function nextOf(queue: string, state: JobState, place: string): string {
  const mark = hash('sha256', JSON.stringify([queue, state, place]), 'base64url').slice(0, 6);
  return `${state}:${place}:${mark}`;
}

/** @throws E_INVALID_LISTING */
function placeIn(queue: string, state: JobState, after: unknown): string {
  const place = typeof after === 'string' ? after.slice(state.length + 1, after.lastIndexOf(':')) : '';
  if (nextOf(queue, state, place) === after) return place;
  throw invalidListing('after', after, `Give the unchanged \`next\` of a page of ${state} jobs of '${queue}'.`);
}

/** Lists the jobs of a queue by their state, page by page. */
import { CapabilityError } from '../connections/errors';
import type { Connection, WaitingState } from '../connections/contract';
import { invalidListing } from './errors';
import { type JobState, type ListedJob, listedFailure, listedJob, type SeenApplication } from './listed-job';

export interface ListOptions {
  /** Those in this state. Default `ready`. */
  readonly state?: JobState | undefined;
  /** Go on behind this place: `next` of the page before. */
  readonly after?: string | undefined;
  /** At most so many, from 1 to 100; a page of large jobs may hold fewer. Default 100. */
  readonly limit?: number | undefined;
}

export interface JobPage {
  /** Those that wait or run in the order in which they come up, those that have failed newest first. */
  readonly jobs: readonly ListedJob[];
  /** Where the next page begins. Undefined: this was the last. What comes and goes between two pages may be missed, or shown twice. */
  readonly next: string | undefined;
}

type CheckedList = Required<{ [Field in keyof ListOptions]: NonNullable<ListOptions[Field]> }>;

/** What a store shows at once. */
const MOST = 100;

const STORED: Readonly<Record<Exclude<JobState, 'failed'>, WaitingState>> = {
  ready: 'ready',
  delayed: 'delayed',
  running: 'reserved',
};

export const JOB_STATES: readonly JobState[] = [...(Object.keys(STORED) as (keyof typeof STORED)[]), 'failed'];

/** @throws E_INVALID_LISTING; CapabilityError: the store cannot show them */
export async function listJobs(
  connection: Connection,
  application: SeenApplication,
  queue: string,
  options: ListOptions,
): Promise<JobPage> {
  const { state, after, limit } = checked(options);
  const place = after.slice(state.length + 1);
  const found =
    state === 'failed'
      ? await failures(connection, application, queue, { place: Number(place), limit })
      : await waiting(connection, application, queue, { state, place, limit });
  return { jobs: found.jobs, next: found.next && `${state}:${found.next}` };
}

async function waiting(
  connection: Connection,
  application: SeenApplication,
  queue: string,
  { state, place, limit }: { readonly state: keyof typeof STORED; readonly place: string; readonly limit: number },
): Promise<JobPage> {
  const { peek, operations } = connection.capabilities;
  if (!peek) throw new CapabilityError(connection.name, connection.driver, 'peek');
  // Its pages do not go on behind a place.
  if (place !== '' && operations !== true) throw new CapabilityError(connection.name, connection.driver, 'operations');
  const stored = STORED[state];
  const peeked = await connection.peek(queue, stored, limit, place || undefined);
  return {
    jobs: peeked.map((job) => listedJob(connection, application, { ...job, queue, state: stored })),
    next: peeked.at(-1)?.place,
  };
}

async function failures(
  connection: Connection,
  application: SeenApplication,
  queue: string,
  { place, limit }: { readonly place: number; readonly limit: number },
): Promise<JobPage> {
  const store = application.failed.storeFor(connection);
  if (store === undefined) throw new CapabilityError(connection.name, connection.driver, 'failed');
  const entries = await store.list({ queue, limit, offset: place });
  const isOwn = store === connection.failed;
  return {
    jobs: entries
      .filter((entry) => isOwn || entry.connection === connection.name)
      .map((entry) => listedFailure(application, entry)),
    next: entries.length < limit ? undefined : String(place + entries.length),
  };
}

function checked({ state = 'ready', after, limit = MOST }: ListOptions): CheckedList {
  if (!JOB_STATES.includes(state)) throw invalidListing('state', state, `Give one of ${JOB_STATES.join(', ')}.`);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > MOST)
    throw invalidListing('limit', limit, `Give a whole number from 1 to ${MOST}.`);
  if (after !== undefined && !isPlaceOf(after, state))
    throw invalidListing('after', after, `Give what a page of ${state} jobs had as \`next\`, as it was.`);
  return { state, limit, after: after ?? `${state}:` };
}

function isPlaceOf(after: unknown, state: JobState): boolean {
  const place = state === 'failed' ? /^failed:\d{1,15}$/ : new RegExp(`^${state}:[ -~]{1,255}$`);
  return typeof after === 'string' && place.test(after);
}

/** What pages read, once for all viewers, and what they do about errors that must not hide everything else. */
import type { Clock, Milliseconds } from '../base/clock';
import { Recent } from '../base/collections';
import { OnqueueError } from '../base/onqueue-error';
import { redact } from '../base/redact';
import { CapabilityError, isStoreAway } from '../connections/errors';
import { LONGEST_ID } from '../connections/record-store';
import { noRecords } from '../operations/errors';
import type { Snapshot } from '../operations/snapshot';
import { attemptOf, HISTORY, readHistory, type Attempt } from '../operations/history/attempt';
import type { ListedJob } from '../operations/listed-job';
import type { RunningWorker } from '../operations/worker-record';
import type { ScheduleListing } from '../schedule/schedules';
import type { PageContext } from './view';

/** How long a reading stays fresh enough. */
const FRESH: Milliseconds = 2000;

/** How many readings are kept; each is as large as a page. */
const MOST = 200;

interface Reading {
  readonly until: Milliseconds;
  readonly value: Promise<unknown>;
}

export class Lookout {
  readonly #clock: Clock;
  readonly #readings = new Recent<string, Reading>(MOST);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The recent result of `read`, or a new one. @param subject what is read; readings with the same subject are shared */
  see<Value>(subject: string, read: () => Promise<Value>, fresh: Milliseconds = FRESH): Promise<Value> {
    const now = this.#clock.monotonic();
    // Expired readings are removed, because each may hold megabytes of jobs, and every visited page makes another one.
    for (const old of this.#readings.keys()) if (this.#readings.get(old)!.until <= now) this.#readings.delete(old);
    const known = this.#readings.get(subject);
    if (known !== undefined) return known.value as Promise<Value>;
    const value = read();
    this.#readings.set(subject, { until: now + fresh, value });
    // After a failure the next reader asks again. Everyone waiting for this reading gets the error.
    value.catch(() => {
      if (this.#readings.get(subject)?.value === value) this.#readings.delete(subject);
    });
    return value;
  }

  /** Expires all readings, because somebody has changed something. */
  forget(): void {
    this.#readings.clear();
  }
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

/** The workers of all connections, several of which may keep their records in one store. */
export async function allWorkers(context: PageContext): Promise<{
  readonly workers: readonly RunningWorker[];
  readonly seen: readonly Seen<readonly RunningWorker[] | undefined>[];
}> {
  const seen = await readEach(context.manager.connectionNames(), (name) => workersOf(name, context));
  const byId = new Map(seen.flatMap(({ found }) => found ?? []).map((worker) => [worker.id, worker]));
  return { workers: [...byId.values()], seen };
}

type KeptJob = Pick<ListedJob, 'connection' | 'id'>;

/** The record of a job; undefined if none is kept, or its store is away. */
export async function recordOf(kind: string, job: KeptJob, { manager }: PageContext): Promise<string | undefined> {
  const { id = '', connection } = job;
  if (id === '' || id.length > LONGEST_ID) return undefined;
  const records = manager.operationsOf(manager.driver(connection))?.records;
  return readOr(async () => records?.get(kind, id), undefined, isStoreAway);
}

/** As its history tells; undefined as above. */
export async function lastAttempt(job: KeptJob, context: PageContext): Promise<Attempt | undefined> {
  const last = readHistory(await recordOf(HISTORY, job, context))?.attempts.at(-1);
  return last && attemptOf(last);
}

/** What was found on one connection; or its trouble. */
export type Seen<Found> =
  | { readonly connection: string; readonly found: Found; readonly trouble?: undefined }
  | { readonly connection: string; readonly found?: undefined; readonly trouble: string };

/** One unreachable store must not hide the others; the trouble of the only one is that of the whole page. */
export function readEach<Found>(
  connections: readonly string[],
  read: (connection: string) => Promise<Found>,
): Promise<readonly Seen<Found>[]> {
  const look = async (connection: string): Promise<Seen<Found>> => {
    try {
      return { connection, found: await read(connection) };
    } catch (error) {
      if (connections.length === 1 || !(error instanceof OnqueueError)) throw error;
      return { connection, trouble: redact(error.message) };
    }
  };
  return Promise.all(connections.map(look));
}

/** What was read, or `instead` of it if the error is one of those expected. */
export async function readOr<Value, Instead>(
  read: () => Promise<Value>,
  instead: Instead,
  ...expected: readonly ((error: unknown) => boolean)[]
): Promise<Value | Instead> {
  try {
    return await read();
  } catch (error) {
    if (expected.some((isExpected) => isExpected(error))) return instead;
    throw error;
  }
}

/** The store cannot do this. */
export const isIncapable = (error: unknown): boolean => error instanceof CapabilityError;

/** No store keeps records for this connection. */
export const isUnrecorded = (error: unknown): boolean => noRecords.is(error);

/** Whichever is reached first. */
const MOST_JOBS = 1000;
const MOST_CHARACTERS = 4 * 1024 * 1024;

/** How many jobs are requested while their size is unknown: if they are large, even these are a lot. */
const FIRST = 20;

export class Budget {
  readonly #mostAtOnce: number;
  #jobs = 0;
  #characters = 0;

  /** @param mostAtOnce the most jobs that one call lists */
  constructor(mostAtOnce: number) {
    this.#mostAtOnce = mostAtOnce;
  }

  get jobs(): number {
    return this.#jobs;
  }

  spend(characters: number): void {
    this.#jobs += 1;
    this.#characters += characters;
  }

  /** How many jobs to request next, by the size of those before. 0 if the budget is spent. */
  get next(): number {
    const left = MOST_CHARACTERS - this.#characters;
    if (this.#jobs >= MOST_JOBS || left <= 0) return 0;
    const fitting = this.#characters === 0 ? FIRST : Math.ceil((left * this.#jobs) / this.#characters);
    return Math.min(fitting, this.#mostAtOnce, MOST_JOBS - this.#jobs);
  }
}

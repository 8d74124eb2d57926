/** A job that waits, runs or has failed, as lists show it. */
import type { Clock } from '../base/clock';
import { redact } from '../base/redact';
import type { Connection, PeekedJob, WaitingState } from '../connections/contract';
import type { FailedEntry, FailedStore } from '../connections/failed-store';
import type { JobRegistry } from '../job/registry';
import type { OperationsConnection } from './operations-connection';
import { type ShownJob, shownJob } from './shown-job';
import { waitsToRunAlone } from './suspicion';

/** What looking at jobs needs from their application; a `QueueManager` provides it. */
export interface SeenApplication {
  readonly registry: JobRegistry;
  readonly clock: Clock;
  readonly configuration: { readonly metrics?: boolean | undefined };
  readonly failed: { storeFor(connection: Connection): FailedStore | undefined };
  /** The connection that keeps the records of this one. Undefined if none does. */
  operationsOf(connection: Connection): OperationsConnection | undefined;
  /** Like `operationsOf`, but never undefined. @throws E_NO_RECORDS */
  neededOperationsOf(connection: Connection): OperationsConnection;
}

/** Where a job can be found. `running` is what counts call `reserved`. */
export type JobState = 'ready' | 'delayed' | 'running' | 'failed';

export interface ListedJob extends ShownJob {
  readonly connection: string;
  readonly queue: string;
  readonly state: JobState;
  /** By the store's clock: when a delayed job becomes ready, or when the lease of a running one ends unless it is renewed. */
  readonly at?: Date | undefined;
  /**
   * Its next crash would be its last, so it waits, in a worker or in its queue, until it can run alone. Known while records are
   * kept.
   */
  readonly waitsToRunAlone?: true | undefined;
  /** When a failed job failed, by the store's clock. */
  readonly failedAt?: Date | undefined;
  /** The first line of a failed job's error. */
  readonly error?: string | undefined;
}

export function stateOf(state: WaitingState): WaitingJob['state'] {
  return state === 'reserved' ? 'running' : state;
}

/** A listed job that waits or runs. */
export interface WaitingJob extends ListedJob {
  readonly state: Exclude<JobState, 'failed'>;
  readonly failedAt?: undefined;
  readonly error?: undefined;
}

/** A listed job that has failed. */
export interface ListedFailure extends ListedJob {
  readonly state: 'failed';
  readonly at?: undefined;
  readonly waitsToRunAlone?: undefined;
  readonly failedAt: Date;
  readonly error: string;
}

/** A job as its store has listed it. */
export async function listedJob(
  connection: Connection,
  application: SeenApplication,
  {
    queue,
    state,
    payload,
    at,
  }: Pick<PeekedJob, 'payload' | 'at'> & { readonly queue: string; readonly state: WaitingState },
): Promise<WaitingJob> {
  const shown = shownJob(payload, application.registry);
  const records = application.operationsOf(connection)?.records;
  return {
    ...shown,
    connection: connection.name,
    queue,
    state: stateOf(state),
    at: at === undefined ? undefined : new Date(at),
    ...((await waitsToRunAlone(records, shown.id, payload)) && { waitsToRunAlone: true }),
  };
}

/** The failed jobs of this connection: a store that keeps those of several returns only its own ones to each that has a store. */
export function ownEntries(
  connection: Connection,
  { failed }: SeenApplication,
  entries: readonly FailedEntry[],
): readonly FailedEntry[] {
  if (failed.storeFor(connection) === connection.failed) return entries;
  return entries.filter((entry) => entry.connection === connection.name);
}

/** A job that has failed. */
export function listedFailure({ registry }: SeenApplication, entry: FailedEntry): ListedFailure {
  const { id, name, connection, queue, attempts, failedAt, exception } = entry;
  const [error = ''] = exception.split('\n', 1);
  return {
    ...shownJob(entry.payload, registry),
    id,
    name,
    attempts,
    connection,
    queue,
    state: 'failed',
    failedAt: new Date(failedAt),
    // Another program may have kept it, without masking.
    error: redact(error!),
  };
}

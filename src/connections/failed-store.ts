/** Where a driver keeps the jobs that are out of tries. */
import type { Milliseconds, Seconds } from '../base/clock';
import { fenceIn, isSameJob } from '../payload/counters';
import type { Failure } from './contract';

/** One failed job, as stored. */
export interface FailedEntry extends Failure {
  /** The connection that the job came from. */
  readonly connection: string;
  readonly queue: string;
  readonly payload: Buffer;
  /** Milliseconds since 1970, by the store's clock. */
  readonly failedAt: number;
  readonly attempts: number;
}

/** An entry in a list. */
export interface ListedEntry extends FailedEntry {
  /** Where the list goes on behind it. Nobody but its store reads it. */
  readonly place: string;
}

export const withoutPlace = ({ place: _place, ...entry }: ListedEntry): FailedEntry => entry;

/** How much there was to read of an entry. */
export const bytesOfEntry = ({ payload, exception }: FailedEntry): number => payload.length + exception.length;

/** What somebody looks for. */
export interface FailedSearch {
  readonly connection?: string | undefined;
  readonly name?: string | undefined;
  /** The id of a batch. */
  readonly batch?: string | undefined;
  /** A text in the error. */
  readonly error?: string | undefined;
  /** Failed at this moment or before. */
  readonly until?: Milliseconds | undefined;
}

/** Which entry to remove. `payload`: only if it has this text. */
export type Forgotten = Pick<FailedEntry, 'id' | 'queue'> & Partial<Pick<FailedEntry, 'payload'>>;

export interface FailedStore {
  /**
   * Adds an entry of a connection without its own failed store, which may report the same job twice. It replaces the entry
   * with its id if that is of the same job; otherwise it gets another id. An entry of a later attempt stays: a worker that
   * was frozen reports its own late (`keptUnder`). Returns the id under which the job is kept.
   *
   * A connection's own jobs are not reported twice. If one fails while there is an entry with its id, both are kept, the new
   * one under another id.
   */
  put(entry: Omit<FailedEntry, 'failedAt'>): Promise<string>;
  /**
   * Newest first.
   *
   * @param options.offset how many to skip
   * @param options.after instead: continues behind the entry with this place, whatever has become of it
   * @param options.search the store may leave out entries that do not match, but need not
   */
  list(options: {
    readonly queue?: string | undefined;
    readonly limit: number;
    readonly offset?: number | undefined;
    readonly after?: string | undefined;
    readonly search?: FailedSearch | undefined;
  }): Promise<readonly ListedEntry[]>;
  /** All entries with this id: a store that keeps each queue by itself may have one in several queues. */
  find(id: string): Promise<readonly FailedEntry[]>;
  count(queue?: string): Promise<number>;
  /**
   * Moves the entry back to its queue as `payload`, in one step. False if it is no longer there as it was read (somebody
   * else retried or forgot it); then nothing was written. With `ties`, the job takes the unique key in its text again;
   * `held`: the job with this id holds the key, and nothing was written.
   */
  retry(entry: FailedEntry, payload: Buffer): Promise<boolean | { readonly held: string }>;
  /** False if there is none (any more). */
  forget(entry: Forgotten): Promise<boolean>;
  /** Removes all, in bounded steps; returns how many. */
  flush(queue?: string): Promise<number>;
  /**
   * Removes jobs older than `olderThan` seconds, then all but the newest `keep`, of all queues or of one; returns how many.
   */
  prune(options: {
    readonly olderThan?: Seconds | undefined;
    readonly keep?: number | undefined;
    readonly queue?: string | undefined;
  }): Promise<number>;
}

/**
 * The id under which `put` keeps an entry, if there is one with its id: the same id if both are of the same job on the same
 * queue, otherwise a new one. Undefined if the existing entry is of a later attempt, and stays.
 */
export function keptUnder(
  known: Omit<FailedEntry, 'failedAt'> | undefined,
  entry: Omit<FailedEntry, 'failedAt'>,
  ownId: () => string,
): string | undefined {
  if (known === undefined) return entry.id;
  // A job that failed on two queues failed twice.
  const isThere = known.queue === entry.queue && known.connection === entry.connection;
  if (!isThere || !isSameJob(known.payload, entry.payload)) return ownId();
  return fenceIn(known.payload) > fenceIn(entry.payload) ? undefined : entry.id;
}

/** Where a driver keeps the jobs that are out of tries. */
import type { Seconds } from '../base/clock';
import { fenceIn, isSameJob } from '../payload/counters';
import type { Failure } from './contract';

/** One failed job, as the store keeps it. */
export interface FailedEntry extends Failure {
  /** The connection that the job came from. */
  readonly connection: string;
  readonly queue: string;
  readonly payload: Buffer;
  /** Milliseconds since 1970, by the store's clock. */
  readonly failedAt: number;
  readonly attempts: number;
}

/** Which entry is to go. `payload`: only if it is the text that is kept. */
export type Forgotten = Pick<FailedEntry, 'id' | 'queue'> & Partial<Pick<FailedEntry, 'payload'>>;

export interface FailedStore {
  /**
   * Adds an entry of a connection that has no failed store of its own, which may give the same job twice: it takes the
   * place of an entry of its id if that is of the same job, else it gets another id. One of a later attempt stays: a worker
   * that was frozen gives its own late (`keptUnder`). Gives the id under which it is kept.
   *
   * A connection's own jobs do not come twice. One that fails while there is an entry of its id is kept beside it, also
   * by another id.
   */
  put(entry: Omit<FailedEntry, 'failedAt'>): Promise<string>;
  /** Newest first. `offset`: skip so many, for paging. */
  list(options: {
    readonly queue?: string | undefined;
    readonly limit: number;
    readonly offset?: number | undefined;
  }): Promise<readonly FailedEntry[]>;
  /** All of this id: a store that keeps each queue by itself may have one of it on several queues. */
  find(id: string): Promise<readonly FailedEntry[]>;
  count(queue?: string): Promise<number>;
  /**
   * Moves the entry back to its queue as `payload`, in one step. False: it is no longer there as it was read (someone
   * else retried or forgot it); nothing was written. With `ties`, it holds the key that stands in its text again; `held`: another
   * job does, by its id, and nothing was written.
   */
  retry(entry: FailedEntry, payload: Buffer): Promise<boolean | { readonly held: string }>;
  /** False: there is none (any more). */
  forget(entry: Forgotten): Promise<boolean>;
  /** Removes all, in bounded steps; returns how many. */
  flush(queue?: string): Promise<number>;
  /** Removes what is older than `olderThan` seconds, then all but the newest `keep`, of all queues or of one; returns how many. */
  prune(options: {
    readonly olderThan?: Seconds | undefined;
    readonly keep?: number | undefined;
    readonly queue?: string | undefined;
  }): Promise<number>;
}

/**
 * Under which id an entry of `put` is kept, if one of its id is known: in place of that, if it is of the same job on the same
 * queue, otherwise under an id of its own. Undefined: what is known is of a later attempt, and stays.
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

/** The jobs that are out of tries, over all connections that keep them: `Queue.failed`. */
import type { Clock, Milliseconds } from '../../base/clock';
import { durationSeconds } from '../../job/duration';
import type { Duration } from '../../job/duration';
import type { Logger } from '../../base/logger';
import type { Buried, Connection } from '../../connections/contract';
import type { ConnectionSettings } from '../../connections/connector';
import { invalidJobId } from '../../dispatch/errors';
import { checkRetriedSize } from '../../dispatch/payload-size';
import { Lock } from '../locks/lock';
import {
  ambiguousFailedJob,
  invalidFailedFilter,
  failedJobsOutOfReach,
  noFailedStore,
  type Unreachable,
} from './errors';
import { errorMessage, toError } from '../../base/exception-text';
import type { FailedEntry, FailedStore } from '../../connections/failed-store';
import { checkFilter, type FailedFilter, fitsFilter } from './failed-filter';
import { type FoundJob, FoundJobs } from './found-jobs';
import { RetryRun } from './retry-run';
import { retriedPayload } from './retried-payload';
import { type OpenStore, sweep, type TakeOut } from './sweep';

/** A failed job, as it is shown. */
export interface FailedJob {
  readonly id: string;
  readonly connection: string;
  readonly queue: string;
  readonly name: string;
  /** The payload's text. Bytes that are no UTF-8 are shown as replacement characters; the store keeps them as they are. */
  readonly payload: string;
  /** The error with its stack, without what looks like a password. */
  readonly exception: string;
  readonly failedAt: Date;
  readonly attempts: number;
}

/** Where a job failed: with its id it tells it from all others. */
export type FailedPlace = Pick<FailedFilter, 'queue' | 'connection'>;

/** What failed jobs need of the application. */
export interface FailedSources {
  /** The names of all configured connections. */
  readonly names: () => readonly string[];
  readonly driver: (name: string) => Connection;
  /** The connection that keeps the failed jobs of those without a store. */
  readonly keeper: () => string;
  readonly settings: (name: string) => ConnectionSettings;
  readonly clock: Clock;
  readonly logger: () => Logger;
}

type Fits = (entry: FailedEntry) => boolean;

const DEFAULT_LIMIT = 100;
const PAGE = 100;
/** Seconds that sending one job back to another connection may take; then another process may try. */
const RETRY_LOCK: Duration = 60;

export class FailedJobs {
  readonly #sources: FailedSources;

  constructor(sources: FailedSources) {
    this.#sources = sources;
  }

  /**
   * Newest first, of all connections that can be asked. `limit`: default 100; `offset`: skip so many of those that fit.
   *
   * `unreachable` is called for each connection that could not be asked, in place of a line in the log.
   *
   * @throws what the first connection rejected with, where none could be asked
   */
  async list(
    options: FailedFilter & {
      readonly limit?: number;
      readonly offset?: number;
      readonly unreachable?: ((connection: string, error: Error) => void) | undefined;
    } = {},
  ): Promise<FailedJob[]> {
    const { limit = DEFAULT_LIMIT, offset = 0, unreachable, ...filter } = options;
    const isFiltered = Object.values(filter).some((value) => value !== undefined);
    if (isFiltered) checkFilter(filter, 'failed.list()');
    const tell = unreachable ?? ((connection, error) => this.#logUnreachable(connection, error));
    const found = new FoundJobs();
    const away = await this.#visit(async (open) => {
      for (const entry of await this.#newest(open, filter, offset + limit)) found.add({ open, entry });
    });
    for (const { connection, error } of away) tell(connection, error);
    return found.all
      .map(({ entry }) => entry)
      .toSorted((a, b) => b.failedAt - a.failedAt)
      .slice(offset, offset + limit)
      .map(shown);
  }

  /**
   * @param place where it failed; needed where jobs of this id failed on several queues or connections
   * @throws E_AMBIGUOUS_FAILED_JOB several have this id, and `place` does not choose one of them
   * @throws E_FAILED_JOBS_OUT_OF_REACH it was not found, and not all connections could be asked
   */
  async get(id: string, place: FailedPlace = {}): Promise<FailedJob | undefined> {
    const found = await this.#find(id, place);
    return found === undefined ? undefined : shown(found.entry);
  }

  /**
   * Sends a failed job back to its queue, with all its tries; of those that have failed until now all (`'all'`), or all
   * that fit a filter: `retry({ queue: 'mail', error: 'ECONNREFUSED' })`.
   *
   * False: there is no such job (any more). Of many, how many were sent back. A job that two processes retry at once goes
   * back once.
   *
   * @param place of one: where it failed; needed where jobs of this id failed on several queues or connections
   * @throws PayloadTooLargeError
   * @throws E_AMBIGUOUS_FAILED_JOB several have this id, and `place` does not choose one of them
   * @throws E_FAILED_FILTER the filter chooses nothing
   * @throws E_FAILED_JOBS_OUT_OF_REACH it was not found, and not all connections could be asked
   * @throws E_RETRY_INCOMPLETE some could not be sent back, or not all connections be asked; the others were
   */
  retry(which: 'all' | FailedFilter): Promise<number>;
  retry(id: string, place?: FailedPlace): Promise<boolean>;
  async retry(which: string | FailedFilter, place: FailedPlace = {}): Promise<boolean | number> {
    if (which === 'all') return this.#retryAll();
    if (isFilter(which)) return this.#retryThose(which);
    const found = await this.#find(which, place);
    return found !== undefined && this.#retry(found.open, found.entry);
  }

  /**
   * Removes a failed job for good, or all that fit a filter: `forget({ name: 'SendMail', olderThan: '1d' })`.
   *
   * False: there is no such job. Of many, how many were removed.
   *
   * @param place of one: where it failed; needed where jobs of this id failed on several queues or connections
   * @throws E_AMBIGUOUS_FAILED_JOB several have this id, and `place` does not choose one of them
   * @throws E_FAILED_FILTER the filter chooses nothing
   * @throws E_FAILED_JOBS_OUT_OF_REACH it was not found, and not all connections could be asked; or, of many,
   * `facts.done` says how many it removed of the others
   */
  forget(which: FailedFilter): Promise<number>;
  forget(id: string, place?: FailedPlace): Promise<boolean>;
  async forget(which: string | FailedFilter, place: FailedPlace = {}): Promise<boolean | number> {
    if (isFilter(which)) {
      checkFilter(which, 'failed.forget()');
      return this.#remove(async (open) => this.#removeThose(open, which.queue, await this.#fitting(open, which)));
    }
    const found = await this.#find(which, place);
    return found !== undefined && found.open.store.forget(found.entry);
  }

  /**
   * Forgets all, or all of a queue; says how many.
   *
   * @throws E_FAILED_JOBS_OUT_OF_REACH not all connections could be asked; `facts.done` says how many it removed of the others
   */
  async flush(queue?: string): Promise<number> {
    return this.#remove(
      ({ store }) => store.flush(queue),
      (buried) => buried.flush(queue),
    );
  }

  /**
   * Forgets what failed longer than `olderThan` ago, and of each store all but the newest `keep`; says how many. With
   * `queue`, `connection`, `name` or `error` only of those that fit them: the others neither go nor count.
   *
   * @throws E_FAILED_FILTER neither `olderThan` nor `keep` is given, or what is given is no filter
   * @throws E_FAILED_JOBS_OUT_OF_REACH not all connections could be asked; `facts.done` says how many it removed of the others
   */
  async prune(options: FailedFilter & { readonly keep?: number | undefined } = {}): Promise<number> {
    const { keep, ...filter } = options;
    const { olderThan, queue, connection, name, error } = filter;
    if (Object.values(filter).some((value) => value !== undefined)) checkFilter(filter, 'failed.prune()');
    if (olderThan === undefined && keep === undefined)
      throw invalidFailedFilter('failed.prune()', options, 'neither olderThan nor keep is among it');
    const seconds = olderThan === undefined ? undefined : durationSeconds(olderThan, 'olderThan');
    if (connection === undefined && name === undefined && error === undefined) {
      return this.#remove(({ store }) => store.prune({ olderThan: seconds, keep, queue }));
    }
    return this.#remove(async (open) => {
      const fits = await this.#fitting(open, { queue, connection, name, error });
      const isOld = olderThan === undefined ? undefined : await this.#fitting(open, { olderThan });
      const old = isOld && ((entry: FailedEntry) => isOld(entry) && fits(entry));
      const removed = old === undefined ? 0 : await this.#removeThose(open, queue, old);
      return removed + (keep === undefined ? 0 : await this.#removeThose(open, queue, fits, keep));
    });
  }

  /** Where a connection's failed jobs go: to its own store, or to that of the connection `failed` names. */
  storeFor(connection: Connection): FailedStore | undefined {
    return ownStore(connection) ?? ownStore(this.#sources.driver(this.#sources.keeper()));
  }

  /**
   * Goes to one store after another. Gives those that could not be asked: one that is away must not hide the others.
   *
   * @throws E_NO_FAILED_STORE; what the first rejected with, where all did
   */
  async #visit(
    ask: (open: OpenStore) => Promise<void>,
    askBuried?: (buried: Buried) => Promise<void>,
  ): Promise<readonly Unreachable[]> {
    const names = this.#sources.names();
    const away: Unreachable[] = [];
    let reached = 0;
    for (const name of names) {
      try {
        const connection = this.#sources.driver(name);
        if (connection.standsFor !== undefined) continue;
        const store = ownStore(connection);
        if (store !== undefined) await ask({ connection, store });
        else if (connection.buried === undefined || askBuried === undefined || this.storeFor(connection)) continue;
        else await askBuried(connection.buried);
        reached += 1;
      } catch (error) {
        away.push({ connection: name, error: toError(error) });
      }
    }
    if (reached > 0) return away;
    throw away[0]?.error ?? noFailedStore(names);
  }

  async #remove(
    from: (open: OpenStore) => Promise<number>,
    fromBuried?: (buried: Buried) => Promise<number>,
  ): Promise<number> {
    let removed = 0;
    const away = await this.#visit(
      async (open) => void (removed += await from(open)),
      fromBuried && (async (buried) => void (removed += await fromBuried(buried))),
    );
    checkAllReached(`${removed} failed ${removed === 1 ? 'job was' : 'jobs were'} removed`, removed, away);
    return removed;
  }

  async #find(id: string, { queue, connection }: FailedPlace): Promise<FoundJob | undefined> {
    checkId(id);
    const found = new FoundJobs();
    const away = await this.#visit(async (open) => {
      for (const entry of await open.store.find(id)) {
        const isThere = queue === undefined || entry.queue === queue;
        if (isThere && (connection === undefined || entry.connection === connection)) found.add({ open, entry });
      }
    });
    const [first, ...others] = found.all;
    if (first === undefined) checkAllReached(`no failed job '${id}' was found`, 0, away);
    if (others.length > 0)
      throw ambiguousFailedJob(
        id,
        found.all.map(({ entry }) => entry),
      );
    return first;
  }

  async #retryAll(): Promise<number> {
    const run = new RetryRun((open, entry) => this.#retry(open, entry));
    const kick = async (buried: Buried): Promise<void> => run.add(await buried.kick());
    return run.result(await this.#visit((open) => run.over(open, { fits: () => true }), kick));
  }

  // What is buried cannot be looked into.
  async #retryThose(filter: FailedFilter): Promise<number> {
    checkFilter(filter, 'failed.retry()');
    const run = new RetryRun((open, entry) => this.#retry(open, entry));
    const { queue } = filter;
    return run.result(
      await this.#visit(async (open) => run.over(open, { queue, fits: await this.#fitting(open, filter) })),
    );
  }

  /** The newest of a store that fit. */
  async #newest(open: OpenStore, filter: FailedFilter, count: number): Promise<readonly FailedEntry[]> {
    const { queue, ...rest } = filter;
    const { store } = open;
    if (Object.values(rest).every((value) => value === undefined)) return store.list({ queue, limit: count });
    const fits = await this.#fitting(open, filter);
    const found: FailedEntry[] = [];
    for (let offset = 0; found.length < count;) {
      const page = await store.list({ queue, limit: PAGE, offset });
      if (page.length === 0) break;
      found.push(...page.filter(fits));
      offset += page.length;
    }
    return found.slice(0, count);
  }

  async #removeThose(open: OpenStore, queue: string | undefined, fits: Fits, keep = 0): Promise<number> {
    let removed = 0;
    const takeOut = async (entry: FailedEntry): Promise<TakeOut> => {
      if (!(await open.store.forget(entry))) return 'gone';
      removed += 1;
      return 'done';
    };
    await sweep(open, { queue, fits, keep, takeOut });
    return removed;
  }

  async #fitting({ connection }: OpenStore, filter: FailedFilter): Promise<Fits> {
    const now = filter.olderThan === undefined ? 0 : await this.#now(connection);
    return (entry) => fitsFilter(entry, filter, now);
  }

  /** By the clock of the store, where it has one. */
  #now(connection: Connection): Promise<Milliseconds> | Milliseconds {
    return connection.now === undefined ? this.#sources.clock.now() : connection.now();
  }

  #logUnreachable(connection: string, error: Error): void {
    const message = `The failed jobs of connection '${connection}' are not listed: ${errorMessage(error)}`;
    this.#sources.logger().warn({ connection }, message);
  }

  async #retry(open: OpenStore, entry: FailedEntry): Promise<boolean> {
    const isConfigured = this.#sources.names().includes(entry.connection);
    const target = this.#sources.settings(isConfigured ? entry.connection : open.connection.name);
    checkRetriedSize(entry.payload, `${entry.name} ${entry.id}`, target);
    const payload = retriedPayload(entry.payload, await this.#now(open.connection));
    if (entry.connection === open.connection.name) return open.store.retry(entry, payload);
    if (isConfigured) return this.#sendBack(open, entry, payload);
    const message = `Failed job ${entry.id} came from the connection '${entry.connection}', which is configured no more; it goes to '${open.connection.name}', which kept it.`;
    this.#sources.logger().warn({ id: entry.id, connection: entry.connection }, message);
    return open.store.retry(entry, payload);
  }

  // Two stores share no transaction. First the push: a crash between the two leaves the job twice rather than nowhere.
  async #sendBack({ connection, store }: OpenStore, entry: FailedEntry, payload: Buffer): Promise<boolean> {
    const move = async (): Promise<boolean> => {
      const kept = (await store.find(entry.id)).find(({ queue }) => queue === entry.queue);
      if (kept === undefined || !kept.payload.equals(entry.payload)) return false;
      await this.#sources.driver(entry.connection).push(entry.queue, [{ payload: payload.toString() }]);
      await store.forget(entry);
      return true;
    };
    const { locks } = connection;
    if (locks === undefined) return move();
    const lock = new Lock(`retry:${entry.id}`, RETRY_LOCK, () => locks, this.#sources.clock);
    return (await lock.get(move)) ?? false;
  }
}

function isFilter(which: unknown): which is FailedFilter {
  return typeof which === 'object' && which !== null;
}

// From JavaScript, and of an id that was looked up in vain: each store would say something else of it.
function checkId(id: unknown): void {
  if (typeof id !== 'string') throw invalidJobId(id);
}

function checkAllReached(done: string, count: number, away: readonly Unreachable[]): void {
  if (away.length > 0) throw failedJobsOutOfReach(done, count, away);
}

function ownStore(connection: Connection): FailedStore | undefined {
  return connection.capabilities.failed ? connection.failed : undefined;
}

function shown({ payload, failedAt, ...entry }: FailedEntry): FailedJob {
  return { ...entry, payload: payload.toString(), failedAt: new Date(failedAt) };
}

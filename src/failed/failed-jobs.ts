/** The jobs that are out of tries, over all connections that keep them: `Queue.failed`. */
import type { Clock } from '../clock/clock';
import { durationSeconds } from '../job/duration';
import type { Duration } from '../job/duration';
import type { Logger } from '../logger/logger';
import type { Buried, Connection } from '../queue/connection';
import type { ConnectionSettings } from '../queue/connector';
import { InvalidJobIdError } from '../queue/errors';
import { checkRetriedSize } from '../queue/payload-size';
import { Lock } from '../locks/lock';
import { FailedJobsOutOfReachError, NoFailedStoreError, type Unreachable } from './errors';
import { errorMessage, toError } from './exception-text';
import type { FailedEntry, FailedStore } from './failed-store';
import { type OpenStore, RetryRun } from './retry-run';
import { retriedPayload } from './retried-payload';

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

const DEFAULT_LIMIT = 100;
/** Seconds that sending one job back to another connection may take; then another process may try. */
const RETRY_LOCK: Duration = 60;

export class FailedJobs {
  readonly #sources: FailedSources;

  constructor(sources: FailedSources) {
    this.#sources = sources;
  }

  /**
   * Newest first, of all connections that can be asked. `limit`: default 100; `offset`: skip so many.
   *
   * `unreachable` is called for each connection that could not be asked, in place of a line in the log.
   *
   * @throws what the first connection rejected with, where none could be asked
   */
  async list(
    options: {
      readonly queue?: string | undefined;
      readonly limit?: number;
      readonly offset?: number;
      readonly unreachable?: ((connection: string, error: Error) => void) | undefined;
    } = {},
  ): Promise<FailedJob[]> {
    const { queue, limit = DEFAULT_LIMIT, offset = 0 } = options;
    const { unreachable = (connection, error) => this.#logUnreachable(connection, error) } = options;
    // Two connections may lead to one store; a job is shown once.
    const entries = new Map<string, FailedEntry>();
    const away = await this.#visit(async ({ store }) => {
      for (const entry of await store.list({ queue, limit: offset + limit })) entries.set(entry.id, entry);
    });
    for (const { connection, error } of away) unreachable(connection, error);
    return [...entries.values()]
      .toSorted((a, b) => b.failedAt - a.failedAt)
      .slice(offset, offset + limit)
      .map(shown);
  }

  /** @throws FailedJobsOutOfReachError it was not found, and not all connections could be asked */
  async get(id: string): Promise<FailedJob | undefined> {
    checkId(id);
    const found = await this.#find(id);
    return found === undefined ? undefined : shown(found.entry);
  }

  /**
   * Sends a failed job back to its queue, with all its tries; `'all'`: all that have failed until now.
   *
   * False: there is no such job (any more). For `'all'`, how many were sent back. A job that two processes retry at once
   * goes back once.
   *
   * @throws PayloadTooLargeError
   * @throws FailedJobsOutOfReachError it was not found, and not all connections could be asked
   * @throws RetryIncompleteError some could not be sent back, or not all connections be asked; the others were
   */
  retry(id: 'all'): Promise<number>;
  retry(id: string): Promise<boolean>;
  async retry(id: string): Promise<boolean | number> {
    if (id === 'all') return this.#retryAll();
    checkId(id);
    const found = await this.#find(id);
    return found !== undefined && this.#retry(found.open, found.entry);
  }

  /**
   * False: there is no such job.
   *
   * @throws FailedJobsOutOfReachError it was not found, and not all connections could be asked
   */
  async forget(id: string): Promise<boolean> {
    checkId(id);
    let forgotten = false;
    const away = await this.#visit(async ({ store }) => {
      forgotten = (await store.forget(id)) || forgotten;
    });
    if (!forgotten) checkAllReached(`no failed job '${id}' was found`, 0, away);
    return forgotten;
  }

  /**
   * Forgets all, or all of a queue; says how many.
   *
   * @throws FailedJobsOutOfReachError not all connections could be asked; `facts.done` says how many it removed of the others
   */
  async flush(queue?: string): Promise<number> {
    return this.#remove(
      (store) => store.flush(queue),
      (buried) => buried.flush(queue),
    );
  }

  /**
   * Forgets what failed longer than `olderThan` ago, and of each store all but the newest `keep`; says how many.
   *
   * @throws FailedJobsOutOfReachError not all connections could be asked; `facts.done` says how many it removed of the others
   */
  async prune(options: {
    readonly olderThan?: Duration | undefined;
    readonly keep?: number | undefined;
  }): Promise<number> {
    const { olderThan, keep } = options;
    const seconds = olderThan === undefined ? undefined : durationSeconds(olderThan, 'olderThan');
    return this.#remove((store) => store.prune({ olderThan: seconds, keep }));
  }

  /** Where a connection's failed jobs go: to its own store, or to that of the connection `failed` names. */
  storeFor(connection: Connection): FailedStore | undefined {
    return ownStore(connection) ?? ownStore(this.#sources.driver(this.#sources.keeper()));
  }

  /**
   * Goes to one store after another. Gives those that could not be asked: one that is away must not hide the others.
   *
   * @throws NoFailedStoreError; what the first rejected with, where all did
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
    throw away[0]?.error ?? new NoFailedStoreError(names);
  }

  async #remove(
    from: (store: FailedStore) => Promise<number>,
    fromBuried?: (buried: Buried) => Promise<number>,
  ): Promise<number> {
    let removed = 0;
    const away = await this.#visit(
      async ({ store }) => void (removed += await from(store)),
      fromBuried && (async (buried) => void (removed += await fromBuried(buried))),
    );
    checkAllReached(`${removed} failed ${removed === 1 ? 'job was' : 'jobs were'} removed`, removed, away);
    return removed;
  }

  async #find(id: string): Promise<{ readonly open: OpenStore; readonly entry: FailedEntry } | undefined> {
    let found: { readonly open: OpenStore; readonly entry: FailedEntry } | undefined;
    const away = await this.#visit(async (open) => {
      const entry = found === undefined ? await open.store.get(id) : undefined;
      if (entry !== undefined) found = { open, entry };
    });
    if (found === undefined) checkAllReached(`no failed job '${id}' was found`, 0, away);
    return found;
  }

  async #retryAll(): Promise<number> {
    const run = new RetryRun((open, entry) => this.#retry(open, entry));
    const kick = async (buried: Buried): Promise<void> => run.add(await buried.kick());
    return run.result(await this.#visit((open) => run.over(open), kick));
  }

  #logUnreachable(connection: string, error: Error): void {
    const message = `The failed jobs of connection '${connection}' are not listed: ${errorMessage(error)}`;
    this.#sources.logger().warn({ connection }, message);
  }

  async #retry(open: OpenStore, entry: FailedEntry): Promise<boolean> {
    const isConfigured = this.#sources.names().includes(entry.connection);
    const target = this.#sources.settings(isConfigured ? entry.connection : open.connection.name);
    checkRetriedSize(entry.payload, `${entry.name} ${entry.id}`, target);
    const payload = retriedPayload(entry.payload, this.#sources.clock.now());
    if (entry.connection === open.connection.name) return open.store.retry(entry, payload);
    if (isConfigured) return this.#sendBack(open, entry, payload);
    const message = `Failed job ${entry.id} came from the connection '${entry.connection}', which is configured no more; it goes to '${open.connection.name}', which kept it.`;
    this.#sources.logger().warn({ id: entry.id, connection: entry.connection }, message);
    return open.store.retry(entry, payload);
  }

  // Two stores share no transaction. First the push: a crash between the two leaves the job twice rather than nowhere.
  async #sendBack({ connection, store }: OpenStore, entry: FailedEntry, payload: Buffer): Promise<boolean> {
    const move = async (): Promise<boolean> => {
      const kept = await store.get(entry.id);
      if (kept === undefined || !kept.payload.equals(entry.payload)) return false;
      await this.#sources.driver(entry.connection).push(entry.queue, [{ payload: payload.toString() }]);
      await store.forget(entry.id);
      return true;
    };
    const { locks } = connection;
    if (locks === undefined) return move();
    const lock = new Lock(`retry:${entry.id}`, RETRY_LOCK, () => locks, this.#sources.clock);
    return (await lock.get(move)) ?? false;
  }
}

// From JavaScript, and of an id that was looked up in vain: each store would say something else of it.
function checkId(id: unknown): void {
  if (typeof id !== 'string') throw new InvalidJobIdError(id);
}

function checkAllReached(done: string, count: number, away: readonly Unreachable[]): void {
  if (away.length > 0) throw new FailedJobsOutOfReachError(done, count, away);
}

function ownStore(connection: Connection): FailedStore | undefined {
  return connection.capabilities.failed ? connection.failed : undefined;
}

function shown({ payload, failedAt, ...entry }: FailedEntry): FailedJob {
  return { ...entry, payload: payload.toString(), failedAt: new Date(failedAt) };
}

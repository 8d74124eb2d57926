/** The stores of failed jobs: which there are, how to go through one while others change it, and how many jobs each keeps. */
import { failedStoreOf, type Application } from '../../connections/application';
import { hash } from 'node:crypto';
import { toError } from '../../base/exception-text';
import type { Buried, Connection } from '../../connections/contract';
import {
  type FailedEntry,
  type FailedSearch,
  type FailedStore,
  type ListedEntry,
} from '../../connections/failed-store';
import { failedJobOf, type FailedJob } from './failed-filter';
import { noFailedStore, type Unreachable } from './errors';
import { Recent } from '../../base/collections';

/** A failed store with its connection. */
export interface OpenStore {
  readonly connection: Connection;
  readonly store: FailedStore;
}

/**
 * Visits one store after another. Returns those that could not be reached: one must not hide the others.
 *
 * @param askBuried for failed jobs that a driver keeps in a place of its own, outside any store
 * @throws E_NO_FAILED_STORE; the first error, if no store could be reached
 */
export async function visitStores(
  sources: Application,
  ask: (open: OpenStore) => Promise<void>,
  askBuried?: (buried: Buried) => Promise<void>,
): Promise<readonly Unreachable[]> {
  const names = sources.connectionNames();
  const away: Unreachable[] = [];
  let reached = 0;
  for (const name of names) {
    try {
      const connection = sources.driver(name);
      if (connection.failover !== undefined) continue;
      const { failed: store, buried } = connection;
      if (store !== undefined) await ask({ connection, store });
      else if (buried === undefined || askBuried === undefined || failedStoreOf(connection, sources)) continue;
      else await askBuried(buried);
      reached += 1;
    } catch (error) {
      away.push({ connection: name, error: toError(error) });
    }
  }
  if (reached > 0) return away;
  throw away[0]?.error ?? noFailedStore(names);
}

/** Whether two connections may lead to one store, so that jobs could be counted twice. */
export function sharesStores(sources: Application): boolean {
  const addresses = keepers(sources).map(addressOf);
  return new Set(addresses).size < addresses.length;
}

/** The connections that keep failed jobs themselves. */
export function keepers(sources: Application): readonly Connection[] {
  const connections = sources.connectionNames().map((name) => sources.driver(name));
  return connections.filter(({ failover, failed }) => failover === undefined && failed !== undefined);
}

/** Where a list of the failed jobs of all connections goes on: behind the entry with this place in the store of each. */
export type FailedPlaces = ReadonlyMap<string, string>;

export interface PlacedJob {
  readonly job: FailedJob;
  /** Where the list goes on behind it. */
  readonly places: FailedPlaces;
}

/**
 * Some failed jobs, newest first, of all connections that can be reached. However deep they are, no store reads more than these.
 *
 * @throws the first connection's error, if none could be reached
 */
export async function failedPage(
  sources: Application,
  { queue, limit, after }: { readonly queue: string | undefined; readonly limit: number; readonly after: FailedPlaces },
): Promise<{ readonly jobs: readonly PlacedJob[]; readonly away: readonly Unreachable[] }> {
  const lists: (FoundEntry & { readonly entry: ListedEntry })[][] = [];
  const away = await visitStores(sources, async (open) => {
    const entries = await open.store.list({ queue, limit, after: after.get(open.connection.name) });
    lists.push(entries.map((entry) => ({ open, entry })));
  });
  const jobs: PlacedJob[] = [];
  const known = new KnownJobs();
  let places = after;
  for (const found of newestFirst(lists)) {
    const isNew = lists.length === 1 || known.isNew(found);
    if (isNew && jobs.length === limit) break;
    const { open, entry } = found;
    places = new Map(places).set(open.connection.name, entry.place);
    jobs.push({ job: isNew ? failedJobOf(entry) : jobs.pop()!.job, places });
  }
  return { jobs, away };
}

/** Merges what stores have listed. Each keeps its own order, which is not always that of the moments. */
export function* newestFirst<Found extends FoundEntry>(lists: readonly (readonly Found[])[]): Generator<Found> {
  const left = lists.map((list) => list.toReversed());
  for (;;) {
    const open = left.filter(({ length }) => length > 0);
    const [first] = open.toSorted((a, b) => b.at(-1)!.entry.failedAt - a.at(-1)!.entry.failedAt);
    if (first === undefined) return;
    yield first.pop()!;
  }
}

/** An entry with its store. */
export interface FoundEntry {
  readonly open: OpenStore;
  readonly entry: FailedEntry;
}

const MOST_STORES = 100;

/** Recognises jobs that were already found: two connections may lead to one store, and both then show its jobs. */
export class KnownJobs {
  readonly #known = new Map<string, Identity[]>();
  /** Looked for once: a driver copies all options of its client to say where it leads. */
  readonly #addresses = new Recent<Connection, string>(MOST_STORES);

  /** Whether this job was not asked about before. */
  isNew({ open, entry }: FoundEntry): boolean {
    const { queue, id, failedAt, connection, payload } = entry;
    const key = JSON.stringify([queue, id, failedAt]);
    const own = {
      connection,
      address: this.#addresses.ensure(open.connection, () => addressOf(open.connection)),
      payload: hash('sha256', payload, 'base64'),
    };
    const alike = this.#known.get(key) ?? [];
    if (alike.some((other) => isSame(other, own))) return false;
    this.#known.set(key, [...alike, own]);
    return true;
  }
}

/** The jobs without duplicates. */
export function distinct(found: readonly FoundEntry[]): readonly FoundEntry[] {
  const known = new KnownJobs();
  return found.filter((job) => known.isNew(job));
}

interface Identity {
  readonly connection: string;
  readonly address: string;
  readonly payload: string;
}

// Some stores keep the name of the connection that a job came from; for others the store's address decides.
function isSame(a: Identity, b: Identity): boolean {
  return (a.connection === b.connection || a.address === b.address) && a.payload === b.payload;
}

function addressOf(connection: Connection): string {
  // A store in this very thread belongs to its connection alone, and has no address.
  return connection.threadAccess === null ? connection.name : `${connection.driver} ${connection.address}`;
}

export interface Sweep {
  /** Only jobs of this queue. */
  readonly queue?: string | undefined;
  /** What `fits` looks for, as far as a store can do so. */
  readonly search?: FailedSearch | undefined;
  readonly fits: (entry: FailedEntry) => boolean;
  /** How many of the newest matching jobs stay, except those that `goes` selects. Default 0. */
  readonly keep?: number | undefined;
  readonly goes?: ((entry: FailedEntry) => boolean) | undefined;
  readonly takeOut: (entry: FailedEntry) => Promise<void>;
}

const PAGE = 100;

/** The matching jobs of a store, newest first. Those that fail meanwhile come before the first one, and are not seen. */
export async function* thatFit(
  { store }: OpenStore,
  { queue, search, fits }: Pick<Sweep, 'queue' | 'search' | 'fits'>,
): AsyncGenerator<FailedEntry> {
  for (let after: string | undefined; ;) {
    const page = await store.list({ queue, limit: PAGE, after, search });
    yield* page.filter(fits);
    after = page.at(-1)?.place;
    if (after === undefined) return;
  }
}

/** Takes out all matching jobs that have failed until now, page by page, while others may retry, forget, and fail jobs. */
export async function sweep(open: OpenStore, which: Sweep): Promise<void> {
  const isChosen = beyond(which.keep ?? 0, which.goes);
  for await (const entry of thatFit(open, which)) if (isChosen(entry)) await which.takeOut(entry);
}

/** For jobs newest first: true for those that `goes` selects, and for all others but the first `keep`. */
export function beyond(keep: number, goes: Sweep['goes']): (entry: FailedEntry) => boolean {
  let kept = 0;
  return (entry) => goes?.(entry) === true || (kept += 1) > keep;
}

/** Queues with a counter. The next failure of any other queue prunes it at once. */
const MOST_QUEUES = 1000;

export interface FailedCapSettings {
  readonly store: Pick<FailedStore, 'prune'>;
  /** Infinity: no limit. */
  readonly keep: number;
  /** Called when the oldest jobs of a queue could not be removed; the next failure tries again. */
  readonly failed: (error: unknown) => void;
}

/**
 * Limits how many failed jobs are kept for each queue: an outage, or a bug in a busy job, must not fill the store.
 *
 * The process that keeps failed jobs prunes a queue at the first one, and then each time it has added a hundredth of `keep`.
 */
export class FailedCap {
  readonly #settings: FailedCapSettings;
  /** How many jobs may still fail on a queue before it is pruned. */
  readonly #left = new Recent<string, number>(MOST_QUEUES);
  /** The last pruning of each queue that has begun or is waiting. */
  readonly #pruning = new Map<string, Promise<void>>();
  /** The pruning of each queue that waits for another one. */
  readonly #next = new Map<string, Promise<void>>();

  constructor(settings: FailedCapSettings) {
    this.#settings = settings;
  }

  /** Call it after a failed job was kept. Undefined if there is nothing to do. Never rejects. */
  kept(queue: string): Promise<void> | undefined {
    const { keep } = this.#settings;
    if (keep === Infinity) return undefined;
    const left = (this.#left.get(queue) ?? 1) - 1;
    this.#left.set(queue, left > 0 ? left : Math.ceil(keep / 100));
    return left > 0 ? undefined : this.#pruneInTurn(queue);
  }

  /** Resolves when no pruning is running. */
  async idle(): Promise<void> {
    while (this.#pruning.size > 0) await Promise.all(this.#pruning.values());
  }

  // One pruning at a time: it may miss jobs that fail after it began. One more covers all that fail until it begins; otherwise a
  // store slower than the jobs would pile up prunings.
  #pruneInTurn(queue: string): Promise<void> {
    const next = this.#next.get(queue);
    if (next !== undefined) return next;
    const before = this.#pruning.get(queue);
    const begin = (): Promise<void> => {
      this.#next.delete(queue);
      return this.#prune(queue);
    };
    const pruning = before === undefined ? begin() : before.then(begin);
    if (before !== undefined) this.#next.set(queue, pruning);
    this.#pruning.set(queue, pruning);
    void pruning.then(() => this.#pruning.get(queue) === pruning && this.#pruning.delete(queue));
    return pruning;
  }

  async #prune(queue: string): Promise<void> {
    const { store, keep, failed } = this.#settings;
    try {
      await store.prune({ queue, keep });
    } catch (error) {
      this.#left.delete(queue);
      failed(error);
    }
  }
}

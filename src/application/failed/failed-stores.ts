/** The stores of failed jobs: which there are, and how to go through one while others change it. */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock';
import { toError } from '../../base/exception-text';
import type { Logger } from '../../base/logger';
import type { ConnectionSettings } from '../../connections/connector';
import type { Buried, Connection } from '../../connections/contract';
import type { FailedEntry, FailedStore } from '../../connections/failed-store';
import { noFailedStore, type Unreachable } from './errors';

/** A failed store with its connection. */
export interface OpenStore {
  readonly connection: Connection;
  readonly store: FailedStore;
}

/** What failed jobs need from their application; a `QueueManager` provides it. */
export interface FailedSources {
  connectionNames(): readonly string[];
  driver(name: string): Connection;
  settings(name: string): ConnectionSettings;
  /** The connection that keeps the failed jobs of connections without a store. */
  readonly failedConnection: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The store for a connection's failed jobs: its own, or that of the connection that `failed` names. */
export function failedStoreOf(connection: Connection, sources: FailedSources): FailedStore | undefined {
  return ownStore(connection) ?? ownStore(sources.driver(sources.failedConnection));
}

function ownStore({ capabilities, failed }: Connection): FailedStore | undefined {
  return capabilities.failed ? failed : undefined;
}

/**
 * Visits one store after another. Returns those that could not be reached: one must not hide the others.
 *
 * @param askBuried for failed jobs that a driver keeps in a place of its own, outside any store
 * @throws E_NO_FAILED_STORE; the first error, if no store could be reached
 */
export async function visitStores(
  sources: FailedSources,
  ask: (open: OpenStore) => Promise<void>,
  askBuried?: (buried: Buried) => Promise<void>,
): Promise<readonly Unreachable[]> {
  const names = sources.connectionNames();
  const away: Unreachable[] = [];
  let reached = 0;
  for (const name of names) {
    try {
      const connection = sources.driver(name);
      if (connection.standsFor !== undefined) continue;
      const store = ownStore(connection);
      const { buried } = connection;
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

/** How many stores there are to visit. */
export function countStores(sources: FailedSources): number {
  const connections = sources.connectionNames().map((name) => sources.driver(name));
  return connections.filter((connection) => connection.standsFor === undefined && ownStore(connection)).length;
}

/** An entry with its store. */
export interface FoundEntry {
  readonly open: OpenStore;
  readonly entry: FailedEntry;
}

/** Recognises jobs that were already found: two connections may lead to one store, and both then show its jobs. */
export class KnownJobs {
  readonly #known = new Map<string, Identity[]>();

  /** Whether this job was not asked about before. */
  isNew({ open, entry }: FoundEntry): boolean {
    const { queue, id, failedAt, connection, payload } = entry;
    const key = JSON.stringify([queue, id, failedAt]);
    const own = {
      connection,
      address: addressOf(open),
      payload: createHash('sha256').update(payload).digest('base64'),
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

function addressOf({ connection }: OpenStore): string {
  // A store in this very thread belongs to its connection alone, and has no address.
  return connection.threadAccess === null ? connection.name : `${connection.driver} ${connection.address}`;
}

export interface Sweep {
  /** Only jobs of this queue. */
  readonly queue?: string | undefined;
  readonly fits: (entry: FailedEntry) => boolean;
  /** How many of the newest matching jobs stay, except those that `goes` selects. Default 0. */
  readonly keep?: number | undefined;
  readonly goes?: ((entry: FailedEntry) => boolean) | undefined;
  /** `done`: taken out by us; `gone`: somebody else was faster; `left`: stays in the store and is not tried again. */
  readonly takeOut: (entry: FailedEntry) => Promise<'done' | 'gone' | 'left'>;
}

export const PAGE = 100;

/** Takes out all matching jobs that have failed until now, page by page, while others may retry, forget, and fail jobs. */
export async function sweep({ store }: OpenStore, which: Sweep): Promise<void> {
  const [newest] = await store.list({ limit: 1 });
  if (newest === undefined) return;
  const left = new Set<string>();
  // If others take jobs out meanwhile, the rest moves up past our offset, and one pass may miss some. So we repeat.
  while (await passTakesOut(store, newest.failedAt, which, left));
}

async function passTakesOut(store: FailedStore, until: number, which: Sweep, left: Set<string>): Promise<boolean> {
  const { queue, fits, keep = 0, goes, takeOut } = which;
  const isChosen = beyond(keep, goes);
  let offset = 0;
  let any = false;
  let last = new Set<string>();
  for (;;) {
    const page = await store.list({ queue, limit: PAGE, offset });
    if (page.length === 0) return any;
    for (const entry of page) {
      const name = nameOf(entry);
      // Only jobs from before the start: a worker that fails retried jobs again must not keep us busy for ever.
      const isOurs = entry.failedAt <= until && !last.has(name) && fits(entry);
      const result = isOurs && isChosen(entry) && !left.has(name) ? await takeOut(entry) : 'stays';
      if (result === 'left') left.add(name);
      if (result === 'left' || result === 'stays') offset += 1;
      any ||= result === 'done';
    }
    last = new Set(page.map(nameOf));
  }
}

/** For jobs newest first: true for those that `goes` selects, and for all others but the first `keep`. */
export function beyond(keep: number, goes: Sweep['goes']): (entry: FailedEntry) => boolean {
  let kept = 0;
  return (entry) => goes?.(entry) === true || (kept += 1) > keep;
}

const nameOf = ({ queue, id }: FailedEntry): string => JSON.stringify([queue, id]);

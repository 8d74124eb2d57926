/** The stores of failed jobs: which are there, and how to go through all that one holds while others change it. */
import { createHash } from 'node:crypto';
import { toError } from '../../base/exception-text';
import type { Buried, Connection } from '../../connections/contract';
import type { FailedEntry, FailedStore } from '../../connections/failed-store';
import { noFailedStore, type Unreachable } from './errors';

/** A failed store with the connection it belongs to. */
export interface OpenStore {
  readonly connection: Connection;
  readonly store: FailedStore;
}

export interface FailedApplication {
  connectionNames(): readonly string[];
  driver(name: string): Connection;
  /** The connection that keeps the failed jobs of those without a store. */
  readonly failedConnection: string;
}

/** Where a connection's failed jobs go: to its own store, or to that of the connection that `failed` names. */
export function failedStoreOf(connection: Connection, application: FailedApplication): FailedStore | undefined {
  return ownStore(connection) ?? ownStore(application.driver(application.failedConnection));
}

function ownStore({ capabilities, failed }: Connection): FailedStore | undefined {
  return capabilities.failed ? failed : undefined;
}

/**
 * Goes to one store after another. Gives those that could not be asked: one that is away must not hide the others.
 *
 * @param askBuried for failed jobs that a driver keeps in a place of its own, where no store has them
 * @throws E_NO_FAILED_STORE; what the first rejected with, where all did
 */
export async function visitStores(
  application: FailedApplication,
  ask: (open: OpenStore) => Promise<void>,
  askBuried?: (buried: Buried) => Promise<void>,
): Promise<readonly Unreachable[]> {
  const names = application.connectionNames();
  const away: Unreachable[] = [];
  let reached = 0;
  for (const name of names) {
    try {
      const connection = application.driver(name);
      if (connection.standsFor !== undefined) continue;
      const store = ownStore(connection);
      const { buried } = connection;
      if (store !== undefined) await ask({ connection, store });
      else if (buried === undefined || askBuried === undefined || failedStoreOf(connection, application)) continue;
      else await askBuried(buried);
      reached += 1;
    } catch (error) {
      away.push({ connection: name, error: toError(error) });
    }
  }
  if (reached > 0) return away;
  throw away[0]?.error ?? noFailedStore(names);
}

/** How many there are to go to. */
export function countStores(application: FailedApplication): number {
  const connections = application.connectionNames().map((name) => application.driver(name));
  return connections.filter((connection) => connection.standsFor === undefined && ownStore(connection)).length;
}

/** An entry, and who keeps it. */
export interface FoundEntry {
  readonly open: OpenStore;
  readonly entry: FailedEntry;
}

/** Tells jobs apart as they are found: two connections may lead to one store, and both then show what it keeps. */
export class KnownJobs {
  readonly #known = new Map<string, Identity[]>();

  /** Whether it is the first time that it is asked about. */
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

/** Each once. */
export function distinct(found: readonly FoundEntry[]): readonly FoundEntry[] {
  const known = new KnownJobs();
  return found.filter((job) => known.isNew(job));
}

interface Identity {
  readonly connection: string;
  readonly address: string;
  readonly payload: string;
}

// Some stores keep the name of the connection that a job came from; for the others the address tells whether they are one.
function isSame(a: Identity, b: Identity): boolean {
  return (a.connection === b.connection || a.address === b.address) && a.payload === b.payload;
}

function addressOf({ connection }: OpenStore): string {
  // A store that lives in this very thread is its connection's own, and has no address of its own.
  return connection.threadAccess === null ? connection.name : `${connection.driver} ${connection.address}`;
}

export interface Sweep {
  /** Only of this queue. */
  readonly queue?: string | undefined;
  readonly fits: (entry: FailedEntry) => boolean;
  /** So many of the newest that fit stay, but for those that `goes` names. Default 0. */
  readonly keep?: number | undefined;
  readonly goes?: ((entry: FailedEntry) => boolean) | undefined;
  /** `done`: by us; `gone`: somebody else was faster; `left`: it stays in the store, and is not tried again. */
  readonly takeOut: (entry: FailedEntry) => Promise<'done' | 'gone' | 'left'>;
}

export const PAGE = 100;

/** Takes out all that fit and have failed until now, in pages, while others may retry, forget, and fail jobs beside it. */
export async function sweep({ store }: OpenStore, which: Sweep): Promise<void> {
  const [newest] = await store.list({ limit: 1 });
  if (newest === undefined) return;
  const left = new Set<string>();
  // Others may take jobs out of the list meanwhile: the rest moves up past our place in it, and one pass may miss some.
  while (await passTakesOut(store, newest.failedAt, which, left));
}

async function passTakesOut(store: FailedStore, until: number, which: Sweep, left: Set<string>): Promise<boolean> {
  const { queue, fits, keep = 0, goes, takeOut } = which;
  let offset = 0;
  let kept = 0;
  let any = false;
  let last = new Set<string>();
  for (;;) {
    const page = await store.list({ queue, limit: PAGE, offset });
    if (page.length === 0) return any;
    for (const entry of page) {
      const name = nameOf(entry);
      // A worker that fails again what is sent back to it must not keep this going for ever.
      const isOurs = entry.failedAt <= until && !last.has(name) && fits(entry);
      const stays = kept < keep && goes?.(entry) !== true;
      const result = isOurs && !stays && !left.has(name) ? await takeOut(entry) : 'stays';
      if (isOurs && stays) kept += 1;
      if (result === 'left') left.add(name);
      if (result === 'left' || result === 'stays') offset += 1;
      any ||= result === 'done';
    }
    last = new Set(page.map(nameOf));
  }
}

/** Of jobs that come newest first: those that `goes` names, and all but so many of the others. */
export function beyond(keep: number, goes: Sweep['goes']): (entry: FailedEntry) => boolean {
  let kept = 0;
  return (entry) => goes?.(entry) === true || (kept += 1) > keep;
}

const nameOf = ({ queue, id }: FailedEntry): string => JSON.stringify([queue, id]);

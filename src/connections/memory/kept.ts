/** What a memory store keeps beside jobs: those that have failed, locks and records. */
import type { Milliseconds, Seconds, Clock } from '../../base/clock';
import { readTies } from '../../payload/ties';
import { textOf } from './texts';
import type { LockStore } from '../lock-store';
import { keptUnder, type FailedEntry, type ListedEntry, type FailedStore, type Forgotten } from '../failed-store';
import { retried } from '../kit/batch-counts';
import { uuidv7 } from '../../payload/uuid';
import type { MemoryStore } from './store';
import type { Listening, RecordPage, RecordStore, RecordWake, StoreRecord, Sums } from '../record-store';

/** Entries that are gone stay in the order until there are so many more of them than of the others. */
const MOST_GONE = 1000;

interface Failure {
  readonly number: number;
  readonly entry: FailedEntry;
}

/** The failed jobs of a memory store, by id and in the order in which they failed. */
export class FailedLog extends Map<string, FailedEntry> {
  #order: Failure[] = [];
  #last = 0;

  /** Adds the entry as the newest one, and replaces the one with its id. */
  put(entry: FailedEntry): void {
    this.#last += 1;
    // A map keeps the place of a key that is set again.
    this.delete(entry.id);
    this.set(entry.id, entry);
    this.#order.push({ number: this.#last, entry });
    if (this.#order.length > 2 * this.size + MOST_GONE) this.#order = this.#order.filter((one) => this.#has(one));
  }

  /** Newest first. @param after the place of the entry before the first one */
  *newest(after?: string): Generator<ListedEntry> {
    for (let at = this.#placesUpTo(after) - 1; at >= 0; at -= 1) {
      const one = this.#order[at]!;
      if (this.#has(one)) yield { ...one.entry, place: String(one.number) };
    }
  }

  #has({ entry }: Failure): boolean {
    return this.get(entry.id) === entry;
  }

  /** How many entries failed before the one with this place. */
  #placesUpTo(place: string | undefined): number {
    if (place === undefined) return this.#order.length;
    let [from, to] = [0, this.#order.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#order[middle]!.number < Number(place)) from = middle + 1;
      else to = middle;
    }
    return to;
  }
}

/** The failed jobs of a memory store. */
export class MemoryFailedStore implements FailedStore {
  readonly #store: MemoryStore;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  async put(entry: Omit<FailedEntry, 'failedAt'>): Promise<string> {
    const known = this.#store.failed.get(entry.id);
    const id = keptUnder(known, entry, uuidv7);
    if (id !== undefined) this.#store.putFailed({ ...entry, id });
    return id ?? entry.id;
  }

  async list({ queue, limit, offset = 0, after }: Parameters<FailedStore['list']>[0]) {
    const listed: ListedEntry[] = [];
    let skipped = 0;
    for (const entry of this.#newestFirst(queue, after)) {
      if (listed.length >= limit) break;
      if (skipped < offset) skipped += 1;
      else listed.push(entry);
    }
    return listed;
  }

  async find(id: string): Promise<readonly FailedEntry[]> {
    const entry = this.#store.failed.get(id);
    return entry === undefined ? [] : [entry];
  }

  async count(queue?: string): Promise<number> {
    return [...this.#newestFirst(queue)].length;
  }

  async retry(entry: FailedEntry, payload: Buffer): Promise<boolean | { readonly held: string }> {
    const kept = this.#store.failed.get(entry.id);
    if (kept === undefined || !kept.payload.equals(entry.payload)) return false;
    const { unique, lane } = readTies(payload) ?? {};
    const ties = { unique, lane };
    const [pushed] = this.#store.push(kept.queue, [{ payload, ...((unique ?? lane) && { ties }) }]) ?? [];
    if (typeof pushed === 'object' && 'duplicate' in pushed) return { held: pushed.duplicate };
    const tie = this.#store.batches.tieOf(textOf(payload));
    this.#store.batches.change(tie?.id, retried(tie?.weight ?? 0));
    return this.#store.failed.delete(entry.id);
  }

  async forget({ id, queue, payload }: Forgotten): Promise<boolean> {
    const kept = this.#store.failed.get(id);
    if (kept?.queue !== queue || (payload !== undefined && !kept.payload.equals(payload))) return false;
    return this.#store.failed.delete(id);
  }

  async flush(queue?: string): Promise<number> {
    return this.#remove([...this.#newestFirst(queue)]);
  }

  async prune(options: Parameters<FailedStore['prune']>[0]): Promise<number> {
    const { olderThan = Infinity, keep = Infinity, queue } = options;
    const oldest = this.#store.clock.now() - olderThan * 1000;
    const entries = [...this.#newestFirst(queue)];
    return this.#remove(entries.filter((entry, index) => entry.failedAt < oldest || index >= keep));
  }

  *#newestFirst(queue?: string, after?: string): Generator<ListedEntry> {
    for (const entry of this.#store.failed.newest(after)) if (queue === undefined || entry.queue === queue) yield entry;
  }

  #remove(entries: readonly FailedEntry[]): number {
    for (const { id } of entries) this.#store.failed.delete(id);
    return entries.length;
  }
}

export interface Lock {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly end: number;
}

/** The locks of a memory store. */
export class MemoryLockStore implements LockStore {
  readonly #clock: Clock;
  readonly #locks = new Map<string, Lock>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async acquire(name: string, token: string, ttl: Seconds): Promise<boolean> {
    this.#forgetEnded();
    const holder = this.#holderOf(name);
    if (holder !== undefined && holder !== token) return false;
    this.#hold(name, token, ttl);
    return true;
  }

  async renew(name: string, token: string, ttl: Seconds): Promise<boolean> {
    if (this.#holderOf(name) !== token) return false;
    this.#hold(name, token, ttl);
    return true;
  }

  async release(name: string, token: string): Promise<boolean> {
    if (this.#holderOf(name) !== token) return false;
    return this.#locks.delete(name);
  }

  snapshot(): ReadonlyMap<string, Lock> {
    return new Map(this.#locks);
  }

  #holderOf(name: string): string | undefined {
    const lock = this.#locks.get(name);
    return lock !== undefined && lock.end > this.#clock.now() ? lock.token : undefined;
  }

  /** Deleted first, so that the locks are sorted by when they were last taken. */
  #hold(name: string, token: string, ttl: Seconds): void {
    this.#locks.delete(name);
    this.#locks.set(name, { token, end: this.#clock.now() + ttl * 1000 });
  }

  /** Nobody looks at a lock whose owner died: without this, such locks would pile up, one for each job. */
  #forgetEnded(): void {
    for (const [name, lock] of this.#locks) {
      if (lock.end > this.#clock.now()) return;
      this.#locks.delete(name);
    }
  }
}

interface Kept {
  readonly value: string;
  readonly end: Milliseconds;
}

interface Listener extends Pick<StoreRecord, 'kind' | 'id'> {
  readonly wake: () => void;
}

/** Shared by all connections of a store. */
export class MemoryRecordStore implements Omit<RecordStore, 'wake'> {
  readonly listeners = new Set<Listener>();
  readonly #now: () => Milliseconds;
  readonly #kinds = new Map<string, Map<string, Kept>>();
  readonly #sums = new Map<string, { amounts: Record<string, number>; end: Milliseconds }>();
  readonly #sources = new Map<string, { sequence: number; end: Milliseconds }>();

  constructor(now: () => Milliseconds) {
    this.#now = now;
  }

  async put(records: readonly StoreRecord[], keep: Seconds, most = Infinity): Promise<void> {
    for (const record of records) this.set(record, keep);
    for (const kind of new Set(records.map((record) => record.kind))) {
      if (this.#of(kind).size <= most) continue;
      for (const { id } of this.#lastFirst(kind).slice(most)) this.#of(kind).delete(id);
    }
  }

  async get(kind: string, id: string): Promise<string | undefined> {
    return this.valueIn(kind, id);
  }

  async list(kind: string, { limit, offset = 0 }: RecordPage): Promise<readonly StoreRecord[]> {
    return this.#lastFirst(kind).slice(offset, offset + limit);
  }

  async replace(record: StoreRecord, expected: string | undefined, keep: Seconds): Promise<boolean> {
    const found = this.valueIn(record.kind, record.id);
    if (found !== expected && found !== record.value) return false;
    this.set(record, keep);
    return true;
  }

  async add(sums: readonly Sums[], source: string, sequence: number): Promise<void> {
    this.#forgetOver(this.#sums);
    this.#forgetOver(this.#sources);
    const before = this.#sources.get(source);
    if (before !== undefined && before.sequence >= sequence) return;
    const longest = Math.max(...sums.map(({ keep }) => keep));
    this.#sources.set(source, { sequence, end: this.#now() + longest * 1000 });
    for (const { name, amounts, keep } of sums) {
      const sum = { ...this.#sums.get(name)?.amounts };
      for (const [field, amount] of Object.entries(amounts)) sum[field] = (sum[field] ?? 0) + amount;
      this.#sums.set(name, { amounts: sum, end: this.#now() + keep * 1000 });
    }
  }

  async sums(names: readonly string[]): Promise<readonly Readonly<Record<string, number>>[]> {
    this.#forgetOver(this.#sums);
    return names.map((name) => ({ ...this.#sums.get(name)?.amounts }));
  }

  /** In the step of a push. */
  valueIn(kind: string, id: string): string | undefined {
    return this.#of(kind).get(id)?.value;
  }

  set({ kind, id, value }: StoreRecord, keep: Seconds): void {
    const kept = this.#of(kind);
    kept.delete(id);
    if (keep > 0) kept.set(id, { value, end: this.#now() + keep * 1000 });
  }

  #lastFirst(kind: string): readonly StoreRecord[] {
    const kept = [...this.#of(kind)].toSorted(
      ([a, { end: endA }], [b, { end: endB }]) => endB - endA || (a < b ? 1 : -1),
    );
    return kept.map(([id, { value }]) => ({ kind, id, value }));
  }

  #of(kind: string): Map<string, Kept> {
    let kept = this.#kinds.get(kind);
    if (kept === undefined) this.#kinds.set(kind, (kept = new Map()));
    this.#forgetOver(kept);
    return kept;
  }

  #forgetOver(kept: Map<string, { readonly end: Milliseconds }>): void {
    for (const [key, { end }] of kept) if (end <= this.#now()) kept.delete(key);
  }
}

/** Those who wait for records through one connection. */
export class MemoryRecordWake implements RecordWake {
  readonly #records: MemoryRecordStore;
  readonly #checkOpen: (operation: string) => void;
  readonly #listeners = new Set<Listener>();

  /** @param checkOpen throws if the connection is closed; listeners are told nothing of it */
  constructor(records: MemoryRecordStore, checkOpen: (operation: string) => void) {
    this.#records = records;
    this.#checkOpen = checkOpen;
  }

  async put(record: StoreRecord, keep: Seconds): Promise<void> {
    this.#checkOpen('records.wake.put');
    await this.#records.put([record], keep);
    for (const { kind, id, wake } of this.#records.listeners) if (kind === record.kind && id === record.id) wake();
  }

  listen(kind: string, id: string, wake: () => void): Listening {
    const listener = { kind, id, wake };
    const all = [this.#listeners, this.#records.listeners];
    for (const listeners of all) listeners.add(listener);
    return {
      isHeard: true,
      stop: () => {
        for (const listeners of all) listeners.delete(listener);
      },
    };
  }

  /** Waiters look once more, and find the connection closed. */
  close(): void {
    for (const { wake } of this.#listeners) wake();
  }
}

/** The failed jobs of a memory store. */
import { type FailedEntry, type FailedStore, type Forgotten, keptUnder, type ListedEntry } from '../failed-store';
import { readTies } from '../../payload/ties';
import { uuidv7 } from '../../payload/uuid';
import type { MemoryStore } from './memory-store';
import { textOf } from './texts';

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
    const unique = readTies(payload)?.unique;
    const [pushed] = this.#store.push(kept.queue, [{ payload, ...(unique && { ties: { unique } }) }]) ?? [];
    if (typeof pushed === 'object' && 'duplicate' in pushed) return { held: pushed.duplicate };
    this.#store.batches.retry(textOf(payload));
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

/** The records and sums of a memory store. */
import type { Milliseconds, Seconds } from '../../base/clock';
import type { Listening, RecordPage, RecordStore, RecordWake, StoreRecord, Sums } from '../record-store';

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

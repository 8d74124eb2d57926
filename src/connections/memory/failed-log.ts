/** The failed jobs of a memory store, by id and in the order in which they failed. */
import type { FailedEntry, ListedEntry } from '../failed-store';

/** Entries that are gone stay in the order until there are so many more of them than of the others. */
const MOST_GONE = 1000;

interface Failure {
  readonly number: number;
  readonly entry: FailedEntry;
}

export class FailedLog {
  readonly #entries = new Map<string, FailedEntry>();
  #order: Failure[] = [];
  #last = 0;

  get size(): number {
    return this.#entries.size;
  }

  get(id: string): FailedEntry | undefined {
    return this.#entries.get(id);
  }

  /** Adds the entry as the newest one, and replaces the one with its id. */
  put(entry: FailedEntry): void {
    this.#last += 1;
    // A map keeps the place of a key that is set again.
    this.#entries.delete(entry.id);
    this.#entries.set(entry.id, entry);
    this.#order.push({ number: this.#last, entry });
    if (this.#order.length > 2 * this.size + MOST_GONE) this.#order = this.#order.filter((one) => this.#has(one));
  }

  delete(id: string): boolean {
    return this.#entries.delete(id);
  }

  /** Oldest first. */
  values(): Iterable<FailedEntry> {
    return this.#entries.values();
  }

  /** Newest first. @param after the place of the entry before the first one */
  *newest(after?: string): Generator<ListedEntry> {
    for (let at = this.#placesUpTo(after) - 1; at >= 0; at -= 1) {
      const one = this.#order[at]!;
      if (this.#has(one)) yield { ...one.entry, place: String(one.number) };
    }
  }

  #has({ entry }: Failure): boolean {
    return this.#entries.get(entry.id) === entry;
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

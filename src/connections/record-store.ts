/**
 * What a store keeps besides its jobs, for those who monitor them: records, which are small texts that expire, and sums. No
 * job depends on any of it.
 */
import type { Seconds } from '../base/clock';

/** In characters, of the id of a record. */
export const LONGEST_ID = 255;

export interface StoreRecord {
  /** What the record is about: up to 20 lower-case letters. */
  readonly kind: string;
  /** Its id among records of its kind: up to `LONGEST_ID` characters. */
  readonly id: string;
  readonly value: string;
}

export interface RecordPage {
  readonly limit: number;
  /** How many to skip. Default: 0. */
  readonly offset?: number | undefined;
}

/** Amounts that are added up together, such as those of one minute. */
export interface Sums {
  /** Up to 100 characters. */
  readonly name: string;
  /** What is added to each amount: whole numbers. */
  readonly amounts: Readonly<Record<string, number>>;
  /** How long they are kept after the last addition. */
  readonly keep: Seconds;
}

/** A wait for a record. */
export interface Listening {
  /**
   * True once the store has confirmed the subscription: records put from then on are heard. False again while it is lost.
   */
  readonly isHeard: boolean;
  stop(): void;
}

/** Wakes those who wait for a record; without it they poll. */
export interface RecordWake {
  /** Writes the record as `put` does, and wakes its listeners in all processes. */
  put(record: StoreRecord, keep: Seconds): Promise<void>;
  /**
   * Never throws: it opens what it needs by itself, and again if that is lost, as long as somebody listens.
   *
   * @param wake called when the record was put or `isHeard` changed: look for it then. May be called for nothing
   */
  listen(kind: string, id: string, wake: () => void): Listening;
}

export interface RecordStore {
  /** Absent: nobody is woken; those who wait for a record poll. */
  readonly wake?: RecordWake | undefined;
  /**
   * Writes up to 100 records, each replacing the one with its kind and id. They expire `keep` seconds from now, by the
   * store's clock; 0 removes them.
   *
   * @param most how many records of each kind stay, those that expire last; at times about a hundred more
   */
  put(records: readonly StoreRecord[], keep: Seconds, most?: number): Promise<void>;
  get(kind: string, id: string): Promise<string | undefined>;
  /** Those that expire last come first; of those that expire together, the greater id. */
  list(kind: string, page: RecordPage): Promise<readonly StoreRecord[]>;
  /**
   * Writes only if the record has the value `expected`, or does not exist if that is undefined. True if it is written, or
   * had the very same value already, as after a lost answer.
   */
  replace(record: StoreRecord, expected: string | undefined, keep: Seconds): Promise<boolean>;
  /**
   * Adds to sums in one step, and only once: adds nothing if an addition of this source already had this number or a greater
   * one.
   *
   * @param sequence from 1, and growing
   */
  add(sums: readonly Sums[], source: string, sequence: number): Promise<void>;
  /** The sums with these names, in order; empty where nothing was added. */
  sums(names: readonly string[]): Promise<readonly Readonly<Record<string, number>>[]>;
}

/** The records of a kind from place `from` to place `to`. @param page how many are read in one call: fewer if they may be long */
export async function* recordsOf(
  records: RecordStore,
  kind: string,
  {
    page = 500,
    from = 0,
    to = Infinity,
  }: { readonly page?: number; readonly from?: number; readonly to?: number } = {},
): AsyncIterable<StoreRecord> {
  for (let offset = from; offset < to; offset += page) {
    const found = await records.list(kind, { limit: page, offset });
    yield* found;
    if (found.length < page) return;
  }
}

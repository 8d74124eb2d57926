/**
 * What a store keeps beside its jobs, for those who look at them: records, which are small texts that end by themselves, and sums.
 * No job depends on any of it.
 */
import type { Seconds } from '../base/clock';
import { isRecord } from '../payload/kinds';

export interface StoreRecord {
  /** What it tells of: up to 20 small letters. */
  readonly kind: string;
  /** What it is found by among those of its kind: up to 255 characters. */
  readonly id: string;
  readonly value: string;
}

export interface RecordPage {
  readonly limit: number;
  /** Skip so many. Default 0. */
  readonly offset?: number | undefined;
}

/** Numbers that are counted together, such as those of one minute. */
export interface Sums {
  /** Up to 100 characters. */
  readonly name: string;
  /** What is added to each: whole numbers. */
  readonly amounts: Readonly<Record<string, number>>;
  /** How long they are kept after the last addition. */
  readonly keep: Seconds;
}

/** Where somebody waits for a record. */
export interface Listening {
  /** The store has confirmed it: what is put from then on is heard. False again as long as it is lost. */
  readonly isHeard: boolean;
  stop(): void;
}

/** Wakes who waits for a record: others find it when they look next. */
export interface RecordWake {
  /** Writes it as `put` does, and wakes those who listen for it, in whatever process. */
  put(record: StoreRecord, keep: Seconds): Promise<void>;
  /**
   * Never throws: what it needs it opens by itself, also again where that was lost, for as long as somebody listens.
   *
   * @param wake the record was put, or `isHeard` has changed: it is to be looked for. It may be called for nothing
   */
  listen(kind: string, id: string, wake: () => void): Listening;
}

export interface RecordStore {
  /** Absent: nobody is woken; who waits for a record looks for it now and then. */
  readonly wake?: RecordWake | undefined;
  /**
   * Writes up to 100, each in the place of the one of its kind and id. They end `keep` seconds from now by the store's clock; 0: they
   * are gone.
   *
   * @param most of each of their kinds those stay that end last, so many; about a hundredth more at times
   */
  put(records: readonly StoreRecord[], keep: Seconds, most?: number): Promise<void>;
  get(kind: string, id: string): Promise<string | undefined>;
  /** Those that end last come first; of those that end together, the greater id. */
  list(kind: string, page: RecordPage): Promise<readonly StoreRecord[]>;
  /**
   * Writes only where `expected` stands, or nothing where it is undefined. True: it is written; also where the very same stood there
   * already, as after an answer that was lost.
   */
  replace(record: StoreRecord, expected: string | undefined, keep: Seconds): Promise<boolean>;
  /**
   * Adds to sums, all in one step, and once: nothing is added where an addition of this source had this number, or a greater one.
   *
   * @param sequence from 1, and growing
   */
  add(sums: readonly Sums[], source: string, sequence: number): Promise<void>;
  /** What the sums of these names have come to, in order; empty where nothing was added. */
  sums(names: readonly string[]): Promise<readonly Readonly<Record<string, number>>[]>;
}

/** What a record's text says. Undefined: it is no JSON object. Anybody may have written it, and who only looks is not to fail of that. */
export function fieldsIn(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const read: unknown = JSON.parse(text);
    return isRecord(read) ? read : undefined;
  } catch {
    return undefined;
  }
}

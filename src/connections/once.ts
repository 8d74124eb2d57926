/** Pushes that happen once for each key, whoever repeats them. */
import type { Milliseconds } from '../base/clock';
import type { NewBatch } from './batch-store';
import type { Entry, Pushed } from './contract';

/** Jobs of one queue that are pushed in one step. There may be none. */
export interface PageToPush {
  readonly queue: string;
  readonly entries: readonly Entry[];
  /** The batch that begins in this step. */
  readonly begins?: NewBatch | undefined;
}

/**
 * What became of a page that is pushed once. `before`: its key was used before. `late`: its moment has passed, or it was
 * only looked for and not found. `skipped`: its batch was cancelled while it was open; its jobs count as skipped, and the key is
 * used. Nothing was pushed in these cases.
 */
export type PushedOnce = readonly Pushed[] | 'before' | 'late' | 'skipped';

/** Makes a push happen once. */
export interface Once {
  /** Up to 255 characters. If a store `follows` only within a queue, each queue has its own keys. */
  readonly key: string;
  /** The key is kept until this moment; after it, nothing is pushed. 0: it is only looked for. */
  readonly until: Milliseconds;
}

/** What the author of a driver hands to the suite, and what it hands back: cases for any test runner. */
import type { Seconds } from '../../base/clock';
import type { Capabilities, Connection } from '../../connections/contract';

/** One open store. Each case opens a new one, and disposes of it. */
export interface ConformanceHarness {
  /** A connection to an empty store: to a fresh schema, key prefix, file, … */
  readonly connection: Connection;
  /**
   * Moves the clock of the store on, so that delays, leases and locks of minutes are tested in no time. Where the store
   * has a clock of its own, let the driver add an offset to it that is 0 but in tests. Real time may pass as well. The
   * suite calls it only where the driver can delay, renew, lock or keep failed jobs.
   */
  advance(seconds: Seconds): void | Promise<void>;
  /** Another client of the same store, as another process has. Left out: the same connection plays both parts. */
  second?(): Connection | Promise<Connection>;
  /**
   * Another queue that the store reaches in one step with this one, where it is divided: a batch is to send jobs to it. Left out:
   * it reaches all of them so.
   */
  neighbour?(queue: string): string;
  /** Closes the connections, and removes what the case left in the store. */
  dispose(): Promise<void>;
}

export type Capability = keyof Capabilities;

/** A promise of the contract, and the proof that a driver keeps it. */
export interface ConformanceCase {
  /** A sentence, to be the name of a test. */
  readonly name: string;
  /** What a driver must be able to do for the promise to concern it. */
  readonly requires: readonly Capability[];
  /** Rejects, with an `AssertionError` or the driver's own error, where the promise is broken. */
  run(): Promise<void>;
}

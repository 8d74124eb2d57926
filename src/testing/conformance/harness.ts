/** What the author of a driver gives to the suite, and the cases for any test runner that it returns. */
import type { Seconds } from '../../base/clock';
import type { Connection } from '../../connections/contract';
import type { World } from './world';
import type { Capability } from '../../connections/driver';

/** One open store. Each case opens a new one and disposes of it. */
export interface ConformanceHarness {
  /** A connection to an empty store: a fresh schema, key prefix, file, … */
  readonly connection: Connection;
  /**
   * Moves the clock of the store forward, so that delays, leases and locks of minutes can be tested at once. If the store
   * has a clock of its own, let the driver add an offset to it that is 0 outside tests. Real time may pass as well. The
   * suite calls this only if the driver can delay, renew, lock or keep failed jobs.
   */
  advance(seconds: Seconds): void | Promise<void>;
  /** Another client of the same store, as another process would have. By default the same connection plays both parts. */
  second?(): Connection | Promise<Connection>;
  /**
   * For a divided store: another queue that it reaches in one step together with this one, so that a batch can push jobs to
   * it. By default the store reaches all queues in one step.
   */
  neighbour?(queue: string): string;
  /** Closes the connections and removes what the case left in the store. */
  dispose(): Promise<void>;
}

/** A promise of the contract, and the proof that a driver keeps it. */
export interface ConformanceCase {
  /** A sentence that can be the name of a test. */
  readonly name: string;
  /** The capabilities without which the promise does not concern a driver. */
  readonly requires: readonly Capability[];
  /** Rejects with an `AssertionError` or the driver's own error if the promise is broken. */
  run(): Promise<void>;
}

/** A case of the suite, not yet bound to a store. */
export interface CaseDefinition extends Omit<ConformanceCase, 'run'> {
  /** The case concerns only drivers without these capabilities. */
  readonly lacks: readonly Capability[];
  readonly run: (world: World) => Promise<void>;
}

/** Cases by name, for drivers that have all capabilities in `requires` and none of those in `lacks`. */
export function cases(
  requires: readonly Capability[],
  table: Readonly<Record<string, (world: World) => Promise<void>>>,
  lacks: readonly Capability[] = [],
): readonly CaseDefinition[] {
  return Object.entries(table).map(([name, run]) => ({ name, requires, lacks, run }));
}

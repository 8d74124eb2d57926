/**
 * The counters that stand at the very end of every payload, and how a text is given new ones without re-encoding it.
 *
 * `lua/prelude.lua` does the same in Redis; `test/payload/counters.test.ts` and the model test hold the two together.
 */
export interface Counters {
  /** Tries used, with the run under way. */
  readonly attempts: number;
  /** Reservations whose lease ran out. */
  readonly crashes: number;
  /** Attempts that ended by a throw. */
  readonly exceptions: number;
  /** Reservations that were given back at no cost in tries. */
  readonly releases: number;
}

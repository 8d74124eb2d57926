/** A queue that is paused, as a store tells it. */
import type { Milliseconds } from '../base/clock';

/** A queue that nothing is taken from. */
export interface Pause {
  readonly queue: string;
  /** When it ends by itself, by the clock of the store: milliseconds since 1970. Absent: not before it is resumed. */
  readonly until?: Milliseconds | undefined;
}

/** @param until Infinity: when it is resumed */
export function pauseOf(queue: string, until: Milliseconds): Pause {
  return until === Infinity ? { queue } : { queue, until: Math.round(until) };
}

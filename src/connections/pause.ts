/** A paused queue, as a store reports it. */
import type { Milliseconds } from '../base/clock';

/** A queue from which nothing is taken. */
export interface Pause {
  readonly queue: string;
  /** When the pause ends by itself, by the store's clock, in milliseconds since 1970. Absent: only when it is resumed. */
  readonly until?: Milliseconds | undefined;
}

/** @param until Infinity: when it is resumed */
export function pauseOf(queue: string, until: Milliseconds): Pause {
  return until === Infinity ? { queue } : { queue, until: Math.round(until) };
}

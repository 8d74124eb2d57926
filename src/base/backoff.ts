/** Pauses between attempts. */
import type { Clock, Milliseconds } from './clock';
import { systemRandom } from './random';

export interface Backoff {
  readonly first: Milliseconds;
  readonly longest: Milliseconds;
}

/**
 * The pause after attempt number `attempt`, counted from 0: each is twice as long as the one before, up to the longest. A random
 * part keeps many processes from coming back at the same instant.
 */
export function pauseAfter(attempt: number, { first, longest }: Backoff, random = systemRandom): Milliseconds {
  return Math.min(first * 2 ** Math.min(attempt, 30), longest) * (0.5 + random() / 2);
}

/** Keeps the process alive while it sleeps, unless told otherwise. */
export function sleep(clock: Clock, milliseconds: Milliseconds, keepAlive = true): Promise<void> {
  return new Promise((resolve) => void clock.after(milliseconds, resolve, keepAlive));
}

/** Tells the first wish that the process should stop from the second, which is in a hurry. */
import type { Milliseconds } from '../clock/clock';
import type { StopSignal } from './exit-codes';
import type { Surroundings } from './session';

/**
 * One signal may come twice: npm passes on what the terminal has sent to all its processes already. So soon after the
 * first, a second one is no wish of anybody's.
 */
const ECHO: Milliseconds = 200;

export interface StopWishes {
  readonly first: (signal: StopSignal) => void;
  readonly again: (signal: StopSignal) => void;
}

/** Each wish is told once. Returns the function that stops listening. */
export function hearStopSignals({ clock, onStopSignal }: Surroundings, { first, again }: StopWishes): () => void {
  let firstAt: Milliseconds | undefined;
  let isHurried = false;
  return onStopSignal((signal) => {
    const now = clock.monotonic();
    if (firstAt === undefined) {
      firstAt = now;
      first(signal);
    } else if (now - firstAt > ECHO && !isHurried) {
      isHurried = true;
      again(signal);
    }
  });
}

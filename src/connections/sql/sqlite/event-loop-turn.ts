/**
 * Yields to the event loop. As the engine is synchronous, a loop of awaited calls would run in microtasks only: without this
 * no timer, socket or signal would be handled until it ends.
 */
import { systemClock } from '../../../base/clock';
import type { Milliseconds } from '../../../base/clock';

/** Read when the module loads, so that fake timers of a test runner do not stop every call. */
const afterThisTurn = setImmediate;

const LONGEST_TURN: Milliseconds = 5;

/** When the first call of this turn was made. */
let began: Milliseconds | undefined;

/** Undefined: go on. Otherwise this turn has taken long: go on when the promise resolves. */
export function turnEnd(): Promise<void> | undefined {
  if (began === undefined) {
    began = systemClock.monotonic();
    afterThisTurn(() => (began = undefined)).unref();
  } else if (systemClock.monotonic() - began >= LONGEST_TURN) {
    return new Promise((resolve) => afterThisTurn(resolve));
  }
  return undefined;
}

/**
 * Gives the event loop its turns. The engine is synchronous, and so a loop of awaited calls runs in microtasks alone:
 * without this no timer, socket or signal would be heard until it ends.
 */
import { systemClock } from '../../../base/clock';
import type { Milliseconds } from '../../../base/clock';

/** Taken when the module loads, so that fake timers of a test runner do not stop every call. */
const afterThisTurn = setImmediate;

const LONGEST_TURN: Milliseconds = 5;

/** When the first call of this turn came. */
let began: Milliseconds | undefined;

/** Undefined: go on. Otherwise this turn has been long: go on when the promise resolves. */
export function turnEnd(): Promise<void> | undefined {
  if (began === undefined) {
    began = systemClock.monotonic();
    afterThisTurn(() => (began = undefined)).unref();
  } else if (systemClock.monotonic() - began >= LONGEST_TURN) {
    return new Promise((resolve) => afterThisTurn(resolve));
  }
  return undefined;
}

/** The only place that reads a clock or arms a timer; a test kit moves time by passing another clock. */

/** A moment, in milliseconds since 1970, as `Date.now()` gives it. */
export type Milliseconds = number;

/** A span or a moment in seconds, possibly with a fraction: the unit of the stores, as in Laravel. */
export type Seconds = number;

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall time in milliseconds. May jump: never measure a span with it. */
  now(): Milliseconds;
  /** Milliseconds since some fixed moment; only ever grows. */
  monotonic(): Milliseconds;
  /** Calls back once after `milliseconds`. The timer does not keep the process alive unless `keepAlive`. */
  after(milliseconds: Milliseconds, callback: () => void, keepAlive?: boolean): Timer;
}

/** One moment by both clocks: the monotonic one stands still while the machine sleeps, and the wall clock may be set. */
export interface Moment {
  readonly monotonic: Milliseconds;
  readonly wall: Milliseconds;
}

export const momentOf = (clock: Clock): Moment => ({ monotonic: clock.monotonic(), wall: clock.now() });

/** Node.js turns longer timeouts into 1 ms: a timeout of 30 days would fire at once. */
const LONGEST_TIMEOUT = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(milliseconds, callback, keepAlive = false) {
    const end = performance.now() + milliseconds;
    let handle: NodeJS.Timeout;
    const arm = (): void => {
      const left = end - performance.now();
      handle = setTimeout(left > LONGEST_TIMEOUT ? arm : callback, Math.min(Math.max(left, 0), LONGEST_TIMEOUT));
      if (!keepAlive) handle.unref();
    };
    arm();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** The zero of `systemClock.monotonic()` on a scale that all threads of the process share: each thread has its own zero. */
export function monotonicOrigin(): Milliseconds {
  return Number(process.hrtime.bigint()) / 1e6 - performance.now();
}

/** Captured when the module loads: a test runner's fake timers, installed later, would never fire it. */
const immediate = setImmediate;
const nextTick = process.nextTick.bind(process);

/** Calls back in this turn of the event loop, when no microtask is left. */
export function afterMicrotasks(callback: () => void): void {
  nextTick(callback);
}

/** Calls back when everything that is due in this turn of the event loop has run. */
export function atEndOfTurn(callback: () => void): void {
  immediate(callback);
}

export const endOfTurn = (): Promise<void> => new Promise(atEndOfTurn);

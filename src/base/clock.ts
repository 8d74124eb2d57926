/** The only place that reads a clock, arms a timer or draws chance; a test kit moves time by passing another clock. */
import { AsyncResource } from 'node:async_hooks';
import { DenseSet, type DenseSetMember } from './collections';

/** A moment, in milliseconds since 1970, as `Date.now()` gives it. */
export type Milliseconds = number;

/** Undefined if there is no moment. */
export function dateOf(moment: Milliseconds | undefined): Date | undefined {
  return moment === undefined ? undefined : new Date(moment);
}

/** A span or a moment in seconds, possibly with a fraction: the unit of the stores, as in Laravel. */
export type Seconds = number;

/** The time by the clock of a store, if it tells it; otherwise by ours. */
export async function timeOf(
  store: { readonly now?: (() => Promise<Milliseconds>) | undefined },
  clock: Pick<Clock, 'now'>,
): Promise<Milliseconds> {
  return (await store.now?.()) ?? clock.now();
}

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
  /** It moves only when a test moves it, which may be waiting for the very run that would wait for the clock. */
  readonly isStill?: boolean | undefined;
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
    let rest: Timer | undefined;
    const isLong = milliseconds > LONGEST_TIMEOUT;
    const next = isLong
      ? () => (rest = systemClock.after(milliseconds - LONGEST_TIMEOUT, callback, keepAlive))
      : callback;
    const handle = setTimeout(next, isLong ? LONGEST_TIMEOUT : Math.max(milliseconds, 0));
    if (!keepAlive) handle.unref();
    return {
      cancel() {
        clearTimeout(handle);
        rest?.cancel();
      },
    };
  },
};

/** The zero of `systemClock.monotonic()` on a scale that all threads of the process share: each thread has its own zero. */
export function monotonicOrigin(): Milliseconds {
  return Number(process.hrtime.bigint()) / 1e6 - performance.now();
}

/**
 * Calls back in this turn of the event loop, when no microtask is left. Captured when the module loads, like the next one: a test
 * runner's fake timers, installed later, would never fire it.
 */
export const afterMicrotasks: (callback: () => void) => void = process.nextTick.bind(process);

/** Calls back when everything that is due in this turn of the event loop has run. */
export const atEndOfTurn: (callback: () => void) => void = setImmediate;

export const endOfTurn = (): Promise<void> => new Promise(atEndOfTurn);

/** The answer did not come in time. It may still come. */
export class Silence extends Error {
  override readonly message = 'no answer in time';
}

/**
 * Waits for the promise. By default the wait keeps the process alive, as an unanswered call does until its deadline.
 *
 * @throws Silence, and what the promise rejects with
 */
export function within<T>(clock: Clock, milliseconds: Milliseconds, promise: Promise<T>, keepAlive = true): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    // Answers that arrived while a job blocked the event loop are read before we believe the silence.
    const silent = (): void => void endOfTurn().then(() => reject(new Silence()));
    const timer = clock.after(Math.max(milliseconds, 0), silent, keepAlive);
    promise.then(resolve, reject).finally(() => timer.cancel());
  });
}

/** After this time we ask again: clocks drift and are set. */
const TRUSTED: Milliseconds = 60_000;
/** An answer that took longer was given some time ago, as when this process was frozen. Then we ask again. */
const LATE: Milliseconds = 250;
const MOST_LATE = 3;

/**
 * The clock of a store, as its answers tell it: our own may be hours off, and decides nothing. Between two answers we add the
 * time that has passed here.
 */
export class StoreClock {
  readonly #clock: Clock;
  /** How far the store was ahead of our monotonic clock at its last answer. Undefined before the first. */
  #ahead: Milliseconds | undefined;
  #toldAt: Moment = { monotonic: -Infinity, wall: 0 };
  #asking: Promise<void> | undefined;

  /** @param clock used until the store has answered */
  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Call it as soon as the answer arrives. */
  told(now: Milliseconds): void {
    this.#toldAt = momentOf(this.#clock);
    this.#ahead = now - this.#toldAt.monotonic;
  }

  now(): Milliseconds {
    return this.#ahead === undefined ? this.#clock.now() : this.#clock.monotonic() + this.#ahead;
  }

  /** Asks the store at most once a minute, and once for all concurrent callers. */
  async current(ask: () => Promise<Milliseconds>): Promise<Milliseconds> {
    if (!this.#isTrusted()) {
      this.#asking ??= this.#ask(ask).finally(() => (this.#asking = undefined));
      await this.#asking;
    }
    return this.now();
  }

  #isTrusted(): boolean {
    const { monotonic, wall } = momentOf(this.#clock);
    const passed = monotonic - this.#toldAt.monotonic;
    // The monotonic clock stood still while the machine slept.
    return passed <= TRUSTED && Math.abs(wall - this.#toldAt.wall - passed) <= LATE;
  }

  async #ask(ask: () => Promise<Milliseconds>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      const begun = this.#clock.monotonic();
      const now = await ask();
      if (this.#clock.monotonic() - begun <= LATE || tries === MOST_LATE) return this.told(now);
    }
  }
}

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

/** Ends a pause before its time. */
export class Alarm {
  #rang = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rang = true;
    this.#wake?.();
  }

  /** Whether it has rung since the last call. */
  rang(): boolean {
    const rang = this.#rang;
    this.#rang = false;
    return rang;
  }

  /** Resolves when it rings, at the latest after that time; at once if it has rung already. */
  async within(clock: Clock, milliseconds: Milliseconds): Promise<void> {
    if (this.#rang) return;
    let timer: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      timer = clock.after(milliseconds, resolve, true);
    });
    timer?.cancel();
  }
}

/**
 * One of many that share a timer. A timer for each would be armed and cancelled even for jobs that take a millisecond; here it costs a
 * place in a list, and the timer moves only for an earlier one.
 */
export class Deadline implements DenseSetMember {
  position: number | undefined;
  at: Milliseconds = Infinity;
  readonly expire: () => void;

  constructor(expire: () => void) {
    this.expire = expire;
  }
}

export class Deadlines {
  readonly #clock: Clock;
  readonly #open = new DenseSet<Deadline>();
  #timer: Timer | undefined;
  #timerAt = Infinity;
  /** In the context of their owner, whichever job's code set the deadline for which the timer was armed. */
  readonly #expired = AsyncResource.bind(() => this.#expire());

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Makes a deadline expire once after `milliseconds`, unless it is removed or set again before. */
  set(deadline: Deadline, milliseconds: Milliseconds): void {
    deadline.at = this.#clock.monotonic() + milliseconds;
    this.#open.add(deadline);
    if (deadline.at < this.#timerAt) this.#arm(deadline.at);
  }

  // The timer stays armed: letting it fire for nothing is cheaper than arming it again for the next short job.
  remove(deadline: Deadline): void {
    this.#open.delete(deadline);
  }

  /** Forgets all deadlines and leaves no timer behind. */
  close(): void {
    this.#open.clear();
    this.#disarm();
  }

  #arm(at: Milliseconds): void {
    this.#timer?.cancel();
    this.#timerAt = at;
    this.#timer = this.#clock.after(Math.max(0, at - this.#clock.monotonic()), this.#expired);
  }

  #disarm(): void {
    this.#timer?.cancel();
    this.#timerAt = Infinity;
  }

  #expire(): void {
    this.#disarm();
    const now = this.#clock.monotonic();
    const due = [...this.#open].filter(({ at }) => at <= now).toSorted((one, other) => one.at - other.at);
    for (const deadline of due) this.#open.delete(deadline);
    let next = Infinity;
    for (const { at } of this.#open) next = Math.min(next, at);
    if (next < Infinity) this.#arm(next);
    for (const { expire } of due) expire();
  }
}

/** The only place that draws random numbers; tests of jitter and weights pass a function of their own. */
export type Random = () => number;

/** Uniform in [0, 1). */
export const systemRandom: Random = () => Math.random();

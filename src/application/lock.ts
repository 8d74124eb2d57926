/** A lock that one process at a time can hold. It expires, so a process that dies does not keep it. */
import { randomUUID } from 'node:crypto';
import { sleep, Silence, within, type Clock, type Milliseconds, type Seconds } from '../base/clock';
import { defineError, errorClass } from '../base/onqueue-error';
import { durationSeconds, type Duration } from '../job/duration';
import type { LockStore } from '../connections/lock-store';

/** Somebody else held the lock for the whole waiting time, or its store did not answer. */
export class LockTimeoutError extends errorClass(
  'E_LOCK_TIMEOUT',
  (lock: string, waited: number, isAnswered: boolean) => ({
    message: isAnswered
      ? `The lock '${lock}' was not free within ${waited} s; somebody else holds it. Wait longer, or try again later.`
      : `The lock '${lock}' was not taken within ${waited} s, because its store did not answer. Is it running?`,
    facts: { lock, waited },
  }),
) {}

const invalidLock = defineError('E_INVALID_LOCK', (lock: unknown, ttl: unknown, problem: string) => ({
  message: `Queue.lock(${JSON.stringify(lock)}, ${JSON.stringify(ttl)}): ${problem}.`,
  facts: { lock, ttl },
}));

/** Seconds between two attempts of `block`. */
const ASK_AGAIN_SECONDS = 0.1;
/** How long the attempt may take that begins when the time is over. */
const LAST_ATTEMPT: Milliseconds = 500;

/** Created by `Queue.lock(name, ttl)`. Each has its own owner token: two locks of one name exclude each other. */
export class Lock {
  readonly name: string;
  readonly #ttl: Seconds;
  readonly #store: () => LockStore;
  readonly #clock: Clock;
  readonly #token = randomUUID();

  /** @throws E_INVALID_LOCK, E_INVALID_DURATION */
  constructor(name: string, ttl: Duration, store: () => LockStore, clock: Clock) {
    if (typeof name !== 'string' || name === '') throw invalidLock(name, ttl, 'a lock needs a name');
    this.name = name;
    this.#ttl = checkedTtl(name, ttl);
    this.#store = store;
    this.#clock = clock;
  }

  /** True if the lock is ours until `ttl` has passed or `release()` is called, also if it already was. */
  async acquire(): Promise<boolean> {
    return this.#store().acquire(this.name, this.#token, this.#ttl);
  }

  /** False if it was no longer ours; whoever holds it now keeps it. */
  async release(): Promise<boolean> {
    return this.#store().release(this.name, this.#token);
  }

  /** Keeps the lock for another `ttl` from now (default: the lock's). False if it was no longer ours. */
  async renew(ttl?: Duration): Promise<boolean> {
    return this.#store().renew(this.name, this.#token, ttl === undefined ? this.#ttl : checkedTtl(this.name, ttl));
  }

  /** Runs `fn` if the lock is free, then releases it. Undefined if it was not free and `fn` did not run. */
  async get<T>(fn: () => T | Promise<T>): Promise<T | undefined> {
    return (await this.acquire()) ? this.#held(fn) : undefined;
  }

  /**
   * Like `get`, but waits up to `wait` for the lock.
   *
   * @throws LockTimeoutError it was not free in time, and `fn` did not run
   */
  async block<T>(wait: Duration, fn: () => T | Promise<T>): Promise<T> {
    const seconds = durationSeconds(wait, `the wait for lock '${this.name}'`);
    const end = this.#clock.monotonic() + seconds * 1000;
    for (;;) {
      const left = end - this.#clock.monotonic();
      const isOurs = await this.#acquireWithin(left > 0 ? left : LAST_ATTEMPT);
      if (isOurs === true) return this.#held(fn);
      if (left <= 0 || isOurs === undefined) throw new LockTimeoutError(this.name, seconds, isOurs === false);
      await sleep(this.#clock, Math.min(left, ASK_AGAIN_SECONDS * 1000));
    }
  }

  /** Undefined if there was no answer in time: then a lock that we get after all is released. */
  async #acquireWithin(patience: Milliseconds): Promise<boolean | undefined> {
    const asked = this.acquire();
    try {
      return await within(this.#clock, patience, asked);
    } catch (error) {
      if (!(error instanceof Silence)) throw error;
      asked.then((isOurs) => isOurs && this.release()).catch(() => undefined);
      return undefined;
    }
  }

  async #held<T>(fn: () => T | Promise<T>): Promise<T> {
    try {
      return await fn();
    } finally {
      await this.release();
    }
  }
}

function checkedTtl(name: string, ttl: Duration): Seconds {
  const seconds = durationSeconds(ttl, `the time of lock '${name}'`);
  if (seconds <= 0) throw invalidLock(name, ttl, 'it needs a time above 0, after which it expires');
  return seconds;
}

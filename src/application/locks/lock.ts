/** A lock that one process at a time can hold, with an end of its own: a process that dies does not keep it. */
import { randomUUID } from 'node:crypto';
import { sleep } from '../../base/backoff';
import type { Clock, Seconds } from '../../base/clock';
import { defineError, errorClass } from '../../base/define-error';
import { type Duration, durationSeconds } from '../../job/duration';
import type { LockStore } from '../../connections/lock-store';

/** The lock was held by somebody else for as long as one wanted to wait. */
export class LockTimeoutError extends errorClass('E_LOCK_TIMEOUT', (lock: string, waited: number) => ({
  message: `The lock '${lock}' was not free within ${waited} s; somebody else holds it. Wait longer, or come back later.`,
  facts: { lock, waited },
})) {}

const invalidLock = defineError('E_INVALID_LOCK', (lock: unknown, ttl: unknown, problem: string) => ({
  message: `Queue.lock(${JSON.stringify(lock)}, ${JSON.stringify(ttl)}): ${problem}.`,
  facts: { lock, ttl },
}));

/** How long `block` waits before it asks again. */
const ASK_AGAIN_SECONDS = 0.1;

/** Made by `Queue.lock(name, ttl)`. Each has an owner's token of its own: two of the same name exclude each other. */
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

  /** True: it is ours until `ttl` has passed, or `release()`. True again where it was ours already. */
  async acquire(): Promise<boolean> {
    return this.#store().acquire(this.name, this.#token, this.#ttl);
  }

  /** False: it was not ours any more; whoever holds it now keeps it. */
  async release(): Promise<boolean> {
    return this.#store().release(this.name, this.#token);
  }

  /** Ours for `ttl` from now (default: that of the lock). False: it was not ours any more. */
  async renew(ttl?: Duration): Promise<boolean> {
    return this.#store().renew(this.name, this.#token, ttl === undefined ? this.#ttl : checkedTtl(this.name, ttl));
  }

  /** Runs `fn` if the lock is free, and releases it then. Undefined: it was not free, and `fn` did not run. */
  async get<T>(fn: () => T | Promise<T>): Promise<T | undefined> {
    return (await this.acquire()) ? this.#held(fn) : undefined;
  }

  /**
   * Like `get`, but waits for at most `wait` until the lock is free.
   *
   * @throws LockTimeoutError it was not free in time, and `fn` did not run
   */
  async block<T>(wait: Duration, fn: () => T | Promise<T>): Promise<T> {
    const seconds = durationSeconds(wait, `the wait for lock '${this.name}'`);
    const end = this.#clock.monotonic() + seconds * 1000;
    while (!(await this.acquire())) {
      const left = end - this.#clock.monotonic();
      if (left <= 0) throw new LockTimeoutError(this.name, seconds);
      await sleep(this.#clock, Math.min(left, ASK_AGAIN_SECONDS * 1000));
    }
    return this.#held(fn);
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
  if (seconds <= 0) throw invalidLock(name, ttl, 'it needs a time of more than 0, after which it is free by itself');
  return seconds;
}

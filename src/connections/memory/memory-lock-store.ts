/** The locks of a memory store. */
import type { Clock, Seconds } from '../../base/clock';
import type { LockStore } from '../contract';

export interface Lock {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly end: number;
}

export class MemoryLockStore implements LockStore {
  readonly #clock: Clock;
  readonly #locks = new Map<string, Lock>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async acquire(name: string, token: string, ttl: Seconds): Promise<boolean> {
    this.#forgetEnded();
    const holder = this.#holderOf(name);
    if (holder !== undefined && holder !== token) return false;
    this.#hold(name, token, ttl);
    return true;
  }

  async renew(name: string, token: string, ttl: Seconds): Promise<boolean> {
    if (this.#holderOf(name) !== token) return false;
    this.#hold(name, token, ttl);
    return true;
  }

  async release(name: string, token: string): Promise<boolean> {
    if (this.#holderOf(name) !== token) return false;
    return this.#locks.delete(name);
  }

  snapshot(): ReadonlyMap<string, Lock> {
    return new Map(this.#locks);
  }

  #holderOf(name: string): string | undefined {
    const lock = this.#locks.get(name);
    return lock !== undefined && lock.end > this.#clock.now() ? lock.token : undefined;
  }

  /** Deleted first, so that the locks are sorted by when they were last taken. */
  #hold(name: string, token: string, ttl: Seconds): void {
    this.#locks.delete(name);
    this.#locks.set(name, { token, end: this.#clock.now() + ttl * 1000 });
  }

  /** Nobody looks at a lock whose owner died: without this, such locks would pile up, one for each job. */
  #forgetEnded(): void {
    for (const [name, lock] of this.#locks) {
      if (lock.end > this.#clock.now()) return;
      this.#locks.delete(name);
    }
  }
}

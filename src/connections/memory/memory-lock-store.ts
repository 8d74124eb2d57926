/** The locks of a memory store. */
import type { Seconds } from '../../base/clock';
import type { LockStore } from '../lock-store';
import type { MemoryStore } from './memory-store';

export interface Lock {
  readonly token: string;
  /** Milliseconds since 1970. */
  readonly end: number;
}

export class MemoryLockStore implements LockStore {
  readonly #store: MemoryStore;
  readonly #checkOpen: (operation: string) => void;

  constructor(store: MemoryStore, checkOpen: (operation: string) => void) {
    this.#store = store;
    this.#checkOpen = checkOpen;
  }

  async acquire(name: string, token: string, ttl: Seconds): Promise<boolean> {
    this.#checkOpen('locks.acquire');
    this.#forgetEnded();
    const holder = this.#holderOf(name);
    if (holder !== undefined && holder !== token) return false;
    this.#hold(name, token, ttl);
    return true;
  }

  async renew(name: string, token: string, ttl: Seconds): Promise<boolean> {
    this.#checkOpen('locks.renew');
    if (this.#holderOf(name) !== token) return false;
    this.#hold(name, token, ttl);
    return true;
  }

  async release(name: string, token: string): Promise<boolean> {
    this.#checkOpen('locks.release');
    if (this.#holderOf(name) !== token) return false;
    return this.#store.locks.delete(name);
  }

  #holderOf(name: string): string | undefined {
    const lock = this.#store.locks.get(name);
    return lock !== undefined && lock.end > this.#store.clock.now() ? lock.token : undefined;
  }

  /** Deleted first, so that the locks are sorted by when they were last taken. */
  #hold(name: string, token: string, ttl: Seconds): void {
    this.#store.locks.delete(name);
    this.#store.locks.set(name, { token, end: this.#store.clock.now() + ttl * 1000 });
  }

  /** Nobody looks at a lock whose owner died: without this, such locks would pile up, one for each job. */
  #forgetEnded(): void {
    for (const [name, lock] of this.#store.locks) {
      if (lock.end > this.#store.clock.now()) return;
      this.#store.locks.delete(name);
    }
  }
}

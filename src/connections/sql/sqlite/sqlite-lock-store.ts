/** The locks in a SQLite file. */
import type { Clock, Seconds } from '../../../base/clock';
import type { LockStore } from '../../lock-store';
import { toMicroseconds } from './moment';
import type { SqliteStore } from './sqlite-store';
import type { SqliteTables } from './sqlite-tables';

export class SqliteLockStore implements LockStore {
  readonly #store: SqliteStore<SqliteTables>;
  readonly #clock: Clock;
  readonly #checkOpen: (operation: string) => void;

  constructor(store: SqliteStore<SqliteTables>, clock: Clock, checkOpen: (operation: string) => void) {
    this.#store = store;
    this.#clock = clock;
    this.#checkOpen = checkOpen;
  }

  async acquire(name: string, token: string, ttl: Seconds): Promise<boolean> {
    this.#checkOpen('locks.acquire');
    return this.#store.write({ consequence: `lock '${name}' was not taken` }, ({ locks }) => {
      const now = this.#now;
      return locks.acquire(name, token, toMicroseconds(now + ttl), now);
    });
  }

  async renew(name: string, token: string, ttl: Seconds): Promise<boolean> {
    this.#checkOpen('locks.renew');
    return this.#store.write({ consequence: `lock '${name}' was not renewed` }, ({ locks }) => {
      const now = this.#now;
      return locks.renew(name, token, toMicroseconds(now + ttl), now);
    });
  }

  async release(name: string, token: string): Promise<boolean> {
    this.#checkOpen('locks.release');
    const purpose = { consequence: `lock '${name}' was not released` };
    return this.#store.write(purpose, ({ locks }) => locks.release(name, token, this.#now));
  }

  get #now(): Seconds {
    return toMicroseconds(this.#clock.now() / 1000);
  }
}

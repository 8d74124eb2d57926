/** The failed jobs of a SQLite file. */
import type { Clock, Seconds } from '../../../base/clock';
import type { FailedEntry, FailedStore, Forgotten } from '../../failed-store';
import { newJob } from '../job-text';
import type { SqliteStore } from './sqlite-store';
import type { SqliteTables } from './sqlite-tables';

/** Entries that one transaction removes. */
const PAGE = 500;

export interface FailedStoreOptions {
  readonly store: SqliteStore<SqliteTables>;
  readonly clock: Clock;
  readonly checkOpen: (operation: string) => void;
  /** Called after a job went back to its queue. */
  readonly wroteTo: (queue: string) => void;
}

export class SqliteFailedStore implements FailedStore {
  readonly #options: FailedStoreOptions;
  readonly #store: SqliteStore<SqliteTables>;

  constructor(options: FailedStoreOptions) {
    this.#options = options;
    this.#store = options.store;
  }

  async put(entry: Omit<FailedEntry, 'failedAt'>): Promise<string> {
    this.#options.checkOpen('failed.put');
    const purpose = { consequence: `the failed job ${entry.id} was not kept`, durable: true };
    return this.#store.write(purpose, ({ failed }) => failed.put(entry, this.#now));
  }

  async list({ queue, limit, offset = 0 }: Parameters<FailedStore['list']>[0]): Promise<readonly FailedEntry[]> {
    this.#options.checkOpen('failed.list');
    return this.#store.read('no failed jobs were listed', ({ failed }) => failed.list(queue, limit, offset));
  }

  async find(id: string): Promise<readonly FailedEntry[]> {
    this.#options.checkOpen('failed.find');
    const entry = await this.#store.read(`the failed job ${id} was not read`, ({ failed }) => failed.get(id));
    return entry === undefined ? [] : [entry];
  }

  async count(queue?: string): Promise<number> {
    this.#options.checkOpen('failed.count');
    return this.#store.read('no failed jobs were counted', ({ failed }) => failed.count(queue));
  }

  async retry(entry: FailedEntry, payload: Buffer): Promise<boolean> {
    this.#options.checkOpen('failed.retry');
    const { id, queue } = entry;
    const purpose = { consequence: `the failed job ${id} was not retried` };
    const retried = await this.#store.write(purpose, ({ jobs, failed }) => {
      if (!failed.take(entry)) return false;
      jobs.insert(queue, [newJob(payload, 0)], this.#now);
      return true;
    });
    if (retried) this.#options.wroteTo(queue);
    return retried;
  }

  async forget(entry: Forgotten): Promise<boolean> {
    this.#options.checkOpen('failed.forget');
    const purpose = { consequence: `the failed job ${entry.id} was kept` };
    return this.#store.write(purpose, ({ failed }) => failed.forget(entry));
  }

  async flush(queue?: string): Promise<number> {
    this.#options.checkOpen('failed.flush');
    const newest = await this.#store.read(KEPT, ({ failed }) => failed.newest());
    return this.#inPages(({ failed }) => failed.flush(queue, newest, PAGE));
  }

  async prune({ olderThan, keep, queue }: Parameters<FailedStore['prune']>[0]): Promise<number> {
    this.#options.checkOpen('failed.prune');
    let removed = 0;
    if (olderThan !== undefined) {
      const moment = this.#now - olderThan;
      removed += await this.#inPages(({ failed }) => failed.pruneOlder(queue, moment, PAGE));
    }
    if (keep !== undefined) {
      const beyond = await this.#store.read(KEPT, ({ failed }) => failed.beyond(queue, keep));
      removed += await this.#inPages(({ failed }) => failed.flush(queue, beyond, PAGE));
    }
    return removed;
  }

  get #now(): Seconds {
    return this.#options.clock.now() / 1000;
  }

  async #inPages(remove: (tables: SqliteTables) => number): Promise<number> {
    for (let removed = 0; ;) {
      const page = await this.#store.write({ consequence: KEPT }, remove);
      removed += page;
      if (page < PAGE) return removed;
    }
  }
}

const KEPT = 'not all of the failed jobs were removed';

/** Goes through all that has failed until now, in pages, while others may retry, forget, and fail jobs beside it. */
import type { Connection } from '../queue/connection';
import { type LeftBehind, RetryIncompleteError, type Unreachable } from './errors';
import type { FailedEntry, FailedStore } from './failed-store';

/** A failed store with the connection it belongs to. */
export interface OpenStore {
  readonly connection: Connection;
  readonly store: FailedStore;
}

/** Gives false when somebody else was faster. */
export type Retry = (open: OpenStore, entry: FailedEntry) => Promise<boolean>;

const PAGE = 100;

export class RetryRun {
  readonly #retry: Retry;
  readonly #left = new Map<string, string>();
  #retried = 0;
  #cause: unknown;

  constructor(retry: Retry) {
    this.#retry = retry;
  }

  /** So many went back in another way. */
  add(count: number): void {
    this.#retried += count;
  }

  async over(open: OpenStore): Promise<void> {
    const [newest] = await open.store.list({ limit: 1 });
    if (newest === undefined) return;
    // What others take out of the list moves the rest past our place in it, so one pass may miss some.
    for (let before = -1; this.#retried > before;) {
      before = this.#retried;
      await this.#pass(open, newest.failedAt);
    }
  }

  /** @throws RetryIncompleteError */
  result(away: readonly Unreachable[]): number {
    if (this.#left.size + away.length === 0) return this.#retried;
    const left: LeftBehind[] = [...this.#left].map(([id, reason]) => ({ id, reason }));
    throw new RetryIncompleteError(this.#retried, left, away, { cause: this.#cause ?? away[0]?.error });
  }

  async #pass(open: OpenStore, until: number): Promise<void> {
    let offset = 0;
    let last = new Set<string>();
    for (;;) {
      const page = await open.store.list({ limit: PAGE, offset });
      if (page.length === 0) return;
      for (const entry of page) {
        // A worker that fails again what is sent back to it must not keep this going for ever.
        const isNew = entry.failedAt > until;
        if (isNew || last.has(entry.id) || !(await this.#takesOut(open, entry))) offset += 1;
      }
      last = new Set(page.map(({ id }) => id));
    }
  }

  /** Whether the entry is in the list no more, as far as we know. */
  async #takesOut(open: OpenStore, entry: FailedEntry): Promise<boolean> {
    if (this.#left.has(entry.id)) return false;
    try {
      if (await this.#retry(open, entry)) this.#retried += 1;
      return true;
    } catch (error) {
      this.#cause ??= error;
      this.#left.set(entry.id, error instanceof Error ? error.message : String(error));
      return false;
    }
  }
}

/** Sends back failed jobs, and remembers those that cannot be. */
import { type LeftBehind, retryIncomplete, type Unreachable } from './errors';
import { errorMessage } from '../../base/exception-text';
import type { FailedEntry } from '../../connections/failed-store';
import { nameOf, type OpenStore, type Sweep, sweep, type TakeOut } from './sweep';

/** Gives false when somebody else was faster. */
export type Retry = (open: OpenStore, entry: FailedEntry) => Promise<boolean>;

export class RetryRun {
  readonly #retry: Retry;
  readonly #left = new Map<string, LeftBehind>();
  #retried = 0;
  #cause: unknown;

  constructor(retry: Retry) {
    this.#retry = retry;
  }

  /** So many went back in another way. */
  add(count: number): void {
    this.#retried += count;
  }

  async over(open: OpenStore, which: Pick<Sweep, 'queue' | 'fits'>): Promise<void> {
    await sweep(open, { ...which, takeOut: (entry) => this.#takeOut(open, entry) });
  }

  /** @throws E_RETRY_INCOMPLETE */
  result(away: readonly Unreachable[]): number {
    if (this.#left.size + away.length === 0) return this.#retried;
    const left = [...this.#left.values()];
    throw retryIncomplete(this.#retried, left, away, this.#cause ?? away[0]?.error);
  }

  async #takeOut(open: OpenStore, entry: FailedEntry): Promise<TakeOut> {
    const name = `${open.connection.name} ${nameOf(entry)}`;
    if (this.#left.has(name)) return 'left';
    try {
      if (!(await this.#retry(open, entry))) return 'gone';
      this.#retried += 1;
      return 'done';
    } catch (error) {
      this.#cause ??= error;
      this.#left.set(name, { id: entry.id, reason: errorMessage(error) });
      return 'left';
    }
  }
}

/**
 * How many failed jobs are kept of each queue: an outage, or a bug in a busy job, must not fill the store.
 *
 * The process that keeps failed jobs prunes a queue at the first, and then once for each hundredth of `keep` that it adds.
 */
import { Recent } from '../../base/recent';
import type { FailedStore } from '../../connections/failed-store';

/** Queues that are counted for; of the others the next failure looks at once. */
const MOST_QUEUES = 1000;

export interface FailedCapSettings {
  readonly store: Pick<FailedStore, 'prune'>;
  /** Infinity: no matter how many. */
  readonly keep: number;
  /** Called when the oldest of a queue could not be removed; the next job that fails tries again. */
  readonly failed: (error: unknown) => void;
}

export class FailedCap {
  readonly #settings: FailedCapSettings;
  /** How many may still fail on a queue before it is looked at. */
  readonly #left = new Recent<string, number>(MOST_QUEUES);
  /** The last that was begun or is to begin. */
  readonly #pruning = new Map<string, Promise<void>>();
  /** One that waits for another. */
  readonly #next = new Map<string, Promise<void>>();

  constructor(settings: FailedCapSettings) {
    this.#settings = settings;
  }

  /** One was kept. Undefined: there is nothing to do. Never rejects. */
  kept(queue: string): Promise<void> | undefined {
    const { keep } = this.#settings;
    if (keep === Infinity) return undefined;
    const left = (this.#left.get(queue) ?? 1) - 1;
    this.#left.set(queue, left > 0 ? left : Math.ceil(keep / 100));
    return left > 0 ? undefined : this.#pruneInTurn(queue);
  }

  /** Resolves when nothing is being removed any more. */
  async idle(): Promise<void> {
    while (this.#pruning.size > 0) await Promise.all(this.#pruning.values());
  }

  // One after another: a pruning may miss what fails after it began. One more is enough for all that fail until that one
  // begins; otherwise a store that is slower than the jobs would have more and more to do.
  #pruneInTurn(queue: string): Promise<void> {
    const next = this.#next.get(queue);
    if (next !== undefined) return next;
    const before = this.#pruning.get(queue);
    const begin = (): Promise<void> => {
      this.#next.delete(queue);
      return this.#prune(queue);
    };
    const pruning = before === undefined ? begin() : before.then(begin);
    if (before !== undefined) this.#next.set(queue, pruning);
    this.#pruning.set(queue, pruning);
    void pruning.then(() => this.#pruning.get(queue) === pruning && this.#pruning.delete(queue));
    return pruning;
  }

  async #prune(queue: string): Promise<void> {
    const { store, keep, failed } = this.#settings;
    try {
      await store.prune({ queue, keep });
    } catch (error) {
      this.#left.delete(queue);
      failed(error);
    }
  }
}

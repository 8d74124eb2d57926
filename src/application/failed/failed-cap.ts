/**
 * Limits how many failed jobs are kept for each queue: an outage, or a bug in a busy job, must not fill the store.
 *
 * The process that keeps failed jobs prunes a queue at the first one, and then each time it has added a hundredth of `keep`.
 */
import { Recent } from '../../base/recent';
import type { FailedStore } from '../../connections/failed-store';

/** Queues with a counter. The next failure of any other queue prunes it at once. */
const MOST_QUEUES = 1000;

export interface FailedCapSettings {
  readonly store: Pick<FailedStore, 'prune'>;
  /** Infinity: no limit. */
  readonly keep: number;
  /** Called when the oldest jobs of a queue could not be removed; the next failure tries again. */
  readonly failed: (error: unknown) => void;
}

export class FailedCap {
  readonly #settings: FailedCapSettings;
  /** How many jobs may still fail on a queue before it is pruned. */
  readonly #left = new Recent<string, number>(MOST_QUEUES);
  /** The last pruning of each queue that has begun or is waiting. */
  readonly #pruning = new Map<string, Promise<void>>();
  /** The pruning of each queue that waits for another one. */
  readonly #next = new Map<string, Promise<void>>();

  constructor(settings: FailedCapSettings) {
    this.#settings = settings;
  }

  /** Call it after a failed job was kept. Undefined if there is nothing to do. Never rejects. */
  kept(queue: string): Promise<void> | undefined {
    const { keep } = this.#settings;
    if (keep === Infinity) return undefined;
    const left = (this.#left.get(queue) ?? 1) - 1;
    this.#left.set(queue, left > 0 ? left : Math.ceil(keep / 100));
    return left > 0 ? undefined : this.#pruneInTurn(queue);
  }

  /** Resolves when no pruning is running. */
  async idle(): Promise<void> {
    while (this.#pruning.size > 0) await Promise.all(this.#pruning.values());
  }

  // One pruning at a time: it may miss jobs that fail after it began. One more covers all that fail until it begins; otherwise a
  // store slower than the jobs would pile up prunings.
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

/** Sends what comes in as one call at a time: what comes while a call is under way travels in the next. */
import { type Milliseconds, systemClock } from '../../base/clock';
import { QueueUnavailableError } from '../errors';

export interface LaneSettings<Item> {
  /**
   * Sends the items in one call, and settles each. If it rejects, so does each that is not settled yet. If the store was
   * silent up to the deadline, so do those that stood in line, or have waited for nearly as long: call after call, the last
   * would wait for many times that.
   */
  readonly carry: (items: readonly Item[]) => Promise<void>;
  /** How many of the waiting items travel in the next call: one at least. Default: all. */
  readonly fitting?: ((items: readonly Item[]) => number) | undefined;
  /** What comes until this resolves travels along. Default: what comes in the same turn of the microtasks. */
  readonly gather?: (() => Promise<void>) | undefined;
  /** Calls under way at once. Default: 1. */
  readonly atOnce?: number | undefined;
}

/** Of a deadline. The next pages of a bulk come a moment after the first. */
const NEARLY = 0.9;

export class Lane<Item extends { readonly reject: (error: unknown) => void }> {
  readonly #settings: LaneSettings<Item>;
  readonly #waiting: Item[] = [];
  /** When each of those came. */
  readonly #cameAt: Milliseconds[] = [];
  #isGathering = false;
  #running = 0;
  #settled: Promise<void> = Promise.resolve();

  constructor(settings: LaneSettings<Item>) {
    this.#settings = settings;
  }

  /** Nothing is under way, and nothing waits. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Resolves when all that was sent so far is settled. */
  get settled(): Promise<void> {
    return this.#settled;
  }

  send(item: Item): void {
    this.#waiting.push(item);
    this.#cameAt.push(systemClock.monotonic());
    if (this.#isGathering || this.#running >= (this.#settings.atOnce ?? 1)) return;
    this.#running += 1;
    // Without a value: each would hold the one before it, for as long as the lane is used.
    this.#settled = Promise.all([this.#settled, this.#run()]).then(() => undefined);
  }

  async #run(): Promise<void> {
    const { gather, fitting, carry } = this.#settings;
    this.#isGathering = true;
    await gather?.();
    this.#isGathering = false;
    while (this.#waiting.length > 0) {
      const items = this.#take(fitting?.(this.#waiting) ?? Infinity);
      const behind = this.#waiting.length;
      try {
        await carry(items);
      } catch (error) {
        for (const item of items) item.reject(error);
        // Otherwise it was asked until the deadline.
        if (!(error instanceof QueueUnavailableError) || error.facts.deadline === undefined) continue;
        const unsent = new QueueUnavailableError({ ...error.facts, uncertain: false }, { cause: error.cause });
        const since = systemClock.monotonic() - error.facts.deadline * 1000 * NEARLY;
        const later = this.#cameAt.findIndex((moment, index) => index >= behind && moment > since);
        for (const item of this.#take(later === -1 ? Infinity : later)) item.reject(unsent);
      }
    }
    this.#running -= 1;
  }

  #take(most: number): readonly Item[] {
    this.#cameAt.splice(0, most);
    return this.#waiting.splice(0, most);
  }
}

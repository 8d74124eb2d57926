/** Sends items one call at a time: those that arrive while a call is under way travel together in the next one. */
import { type Milliseconds, systemClock } from '../../base/clock';
import { inRootContext } from '../application';
import { QueueUnavailableError } from '../errors';

export interface LaneSettings<Item> {
  /**
   * Sends the items in one call, and settles each. If it rejects, the items that are not settled yet are rejected. If the
   * store was silent until the deadline, so are the items that were waiting behind that call or have waited for nearly as
   * long: otherwise, call after call, the last item would wait many times the deadline.
   */
  readonly carry: (items: readonly Item[]) => Promise<void>;
  /** How many waiting items travel in the next call: at least one. Default: all. */
  readonly fitting?: ((items: readonly Item[]) => number) | undefined;
  /** Items that arrive until this resolves travel together. Default: items of the same microtask turn. */
  readonly gather?: (() => Promise<void>) | undefined;
  /** Calls under way at once. Default: 1. */
  readonly atOnce?: number | undefined;
}

/** Part of a deadline. The next pages of a bulk arrive a moment after the first. */
const NEARLY = 0.9;

export class Lane<Item extends { readonly reject: (error: unknown) => void }> {
  readonly #settings: LaneSettings<Item>;
  readonly #waiting: Item[] = [];
  /** When each of the waiting items arrived. */
  readonly #cameAt: Milliseconds[] = [];
  #isGathering = false;
  #running = 0;
  #settled: Promise<void> = Promise.resolve();

  constructor(settings: LaneSettings<Item>) {
    this.#settings = settings;
  }

  /** Nothing is under way or waiting. */
  get isIdle(): boolean {
    return this.#running === 0;
  }

  /** Resolves when everything sent so far is settled. */
  get settled(): Promise<void> {
    return this.#settled;
  }

  send(item: Item): void {
    this.#waiting.push(item);
    this.#cameAt.push(systemClock.monotonic());
    if (this.#isGathering || this.#running >= (this.#settings.atOnce ?? 1)) return;
    this.#running += 1;
    // Resolves without a value: otherwise each promise would hold the one before it, for as long as the lane is used.
    this.#settled = Promise.all([this.#settled, this.#run()]).then(() => undefined);
  }

  async #run(): Promise<void> {
    const { gather, fitting, carry } = this.#settings;
    this.#isGathering = true;
    await gather?.();
    this.#isGathering = false;
    // Later calls belong to others than whoever sent the first.
    for (let isFirst = true; this.#waiting.length > 0; isFirst = false) {
      const items = this.#take(fitting?.(this.#waiting) ?? Infinity);
      const behind = this.#waiting.length;
      try {
        await (isFirst ? carry(items) : inRootContext(() => carry(items)));
      } catch (error) {
        for (const item of items) item.reject(error);
        // From here on: the call was repeated until the deadline.
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

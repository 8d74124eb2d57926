/**
 * What waits to be written behind the runs of jobs: bounded, in pages, some each second, and in nobody's way.
 *
 * While the store is away it stays here, the latest of each key; what there is no room for is left out, and that is told.
 */
import type { Clock, Milliseconds, Timer } from '../../base/clock';
import { errorMessage } from '../../base/exception-text';
import type { Logger } from '../../base/logger';
import { isStoreAway } from '../../connections/errors';
import { within } from '../../connections/kit/silence';

export interface BacklogSettings<Item> {
  /** In the plural, for the log: `histories of jobs`. */
  readonly what: string;
  /** The connection that takes them. */
  readonly connection: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many wait at most. */
  readonly most: number;
  /** How many of them a second are written at most: a busy store is not to be filled with what nobody may ever read. */
  readonly perSecond: number;
  readonly write: (page: readonly Item[]) => Promise<void>;
}

/** What a store takes in one call. */
const PAGE = 100;
const SECOND: Milliseconds = 1000;
const LONGEST_PAUSE: Milliseconds = 30_000;
/** How long its end waits for the store. */
const LAST: Milliseconds = 2000;

export class Backlog<Item> {
  readonly #settings: BacklogSettings<Item>;
  readonly #waiting = new Map<string, Item>();
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;
  #failures = 0;
  #isOverflowTold = false;

  constructor(settings: BacklogSettings<Item>) {
    this.#settings = settings;
  }

  get(key: string): Item | undefined {
    return this.#waiting.get(key);
  }

  /** Whether there is room for one of another key. */
  get hasRoom(): boolean {
    return this.#waiting.size < this.#settings.most;
  }

  /** In the place of the one of its key that waits. */
  set(key: string, item: Item): void {
    if (!this.hasRoom && !this.#waiting.has(key)) return this.leaveOut();
    this.#waiting.set(key, item);
    if (this.#timer === undefined && this.#writing === undefined) this.#arm(SECOND);
  }

  /** One is not taken. */
  leaveOut(): void {
    if (this.#isOverflowTold) return;
    this.#isOverflowTold = true;
    const { what, perSecond } = this.#settings;
    this.#warn(`There are more ${what} than the ${perSecond} a second that are written: some are left out`);
  }

  /** Writes what waits, for two seconds at most; what is left then is given up. */
  async close(): Promise<void> {
    this.#timer?.cancel();
    await within(this.#settings.clock, LAST, this.#writeAll()).catch(() => undefined);
    this.#timer?.cancel();
    this.#waiting.clear();
  }

  async #writeAll(): Promise<void> {
    await this.#writing;
    while (this.#waiting.size > 0 && this.#failures === 0) await this.#write();
  }

  #arm(pause: Milliseconds): void {
    this.#timer = this.#settings.clock.after(pause, () => {
      this.#timer = undefined;
      this.#writing = this.#write().finally(() => {
        this.#writing = undefined;
        const next = Math.min(SECOND * 2 ** this.#failures, LONGEST_PAUSE);
        if (this.#waiting.size > 0 && this.#timer === undefined) this.#arm(next);
      });
    });
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    for (let left = this.#settings.perSecond; left > 0 && this.#waiting.size > 0; left -= PAGE) {
      const page = [...this.#first(Math.min(PAGE, left))];
      try {
        await this.#settings.write(page.map(([, item]) => item));
        this.#failures = 0;
      } catch (error) {
        if (this.#failures === 0) this.#warn(`The ${this.#settings.what} are not written: ${errorMessage(error)}`);
        if (isStoreAway(error)) {
          this.#failures += 1;
          return;
        }
      }
      // Refused, it is given up: offered again it would keep back all that comes behind it.
      for (const [key, item] of page) if (this.#waiting.get(key) === item) this.#waiting.delete(key);
    }
  }

  *#first(count: number): Iterable<[string, Item]> {
    let left = count;
    for (const one of this.#waiting) {
      if (left === 0) return;
      left -= 1;
      yield one;
    }
  }

  #warn(message: string): void {
    const { connection, logger } = this.#settings;
    logger.warn({ connection }, message);
  }
}

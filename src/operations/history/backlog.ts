/**
 * Records that wait to be written in the background: bounded, in pages, a limited number per second.
 *
 * While the store is unreachable they stay here, the latest of each key. If there is no room for more, they are dropped, which is
 * logged.
 */
import { within, type Clock, type Milliseconds, type Timer } from '../../base/clock';
import { errorMessage } from '../../base/exception-text';
import type { Logger } from '../../base/logger';
import { isStoreAway } from '../../connections/errors';

export interface BacklogSettings<Item> {
  /** In the plural, for the log: `histories of jobs`. */
  readonly what: string;
  /** The connection that they are written to. */
  readonly connection: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How many wait at most. */
  readonly most: number;
  /** How many are written per second at most: a busy store must not be filled with records that nobody may ever read. */
  readonly perSecond: number;
  /** How long one waits until it is written. Default: a second. */
  readonly pause?: Milliseconds | undefined;
  readonly write: (page: readonly Item[]) => Promise<void>;
}

/** What a store takes in one call. */
const PAGE = 100;
const SECOND: Milliseconds = 1000;
const LONGEST_PAUSE: Milliseconds = 30_000;
/** How long closing waits for the store. */
const LAST: Milliseconds = 2000;

export class Backlog<Item> {
  readonly #settings: BacklogSettings<Item>;
  readonly #waiting = new Map<string, Item>();
  #timer: Timer | undefined;
  #writing: Promise<void> | undefined;
  #failures = 0;
  #isOverflowTold = false;
  readonly #wait: Milliseconds;

  constructor(settings: BacklogSettings<Item>) {
    this.#settings = settings;
    this.#wait = settings.pause ?? SECOND;
  }

  get(key: string): Item | undefined {
    return this.#waiting.get(key);
  }

  /** Whether there is room for one with another key. */
  get hasRoom(): boolean {
    return this.#waiting.size < this.#settings.most;
  }

  /** Replaces a waiting one with the same key. */
  set(key: string, item: Item): void {
    if (!this.hasRoom && !this.#waiting.has(key)) return this.leaveOut();
    this.#waiting.set(key, item);
    if (this.#timer === undefined && this.#writing === undefined) this.#arm(this.#wait);
  }

  /** Notes that one could not be taken. */
  leaveOut(): void {
    if (this.#isOverflowTold) return;
    this.#isOverflowTold = true;
    const { what, perSecond } = this.#settings;
    this.#warn(`There are more ${what} than the ${perSecond} a second that are written: some are dropped`);
  }

  /** Writes what is waiting, for up to two seconds, and drops the rest. */
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
        const next = this.#failures === 0 ? this.#wait : Math.min(SECOND * 2 ** this.#failures, LONGEST_PAUSE);
        if (this.#waiting.size > 0 && this.#timer === undefined) this.#arm(next);
      });
    });
  }

  /** Never rejects. */
  async #write(): Promise<void> {
    for (
      let left = (this.#settings.perSecond * this.#wait) / SECOND;
      left > 0 && this.#waiting.size > 0;
      left -= PAGE
    ) {
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
      // A refused page is dropped: trying it again would hold up everything behind it.
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

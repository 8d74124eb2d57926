/** Looks at the stores for all viewers together: what one of them has just read is not read again for another. */
import type { Clock, Milliseconds } from '../base/clock';

/** So long what was read stays true enough. */
const FRESH: Milliseconds = 2000;
/** Readings that are kept; each is as large as a page. */
const MOST = 200;

interface Reading {
  /** From then on it is old. */
  readonly until: Milliseconds;
  readonly value: Promise<unknown>;
}

export class Lookout {
  readonly #clock: Clock;
  readonly #readings = new Map<string, Reading>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * What `read` gave within the last seconds, or gives now.
   *
   * @param subject what is read; two readers of one subject give the same
   */
  see<Value>(subject: string, read: () => Promise<Value>, fresh: Milliseconds = FRESH): Promise<Value> {
    const now = this.#clock.monotonic();
    // Each may hold megabytes of jobs, and who goes from page to page makes another one each time.
    for (const [old, { until }] of this.#readings) if (until <= now) this.#readings.delete(old);
    const known = this.#readings.get(subject);
    if (known !== undefined) return known.value as Promise<Value>;
    const value = read();
    this.#readings.set(subject, { until: now + fresh, value });
    for (const [oldest] of this.#readings) {
      if (this.#readings.size <= MOST) break;
      this.#readings.delete(oldest);
    }
    // Who looks next asks anew. Whoever waits for this one hears of the failure itself.
    value.catch(() => {
      if (this.#readings.get(subject)?.value === value) this.#readings.delete(subject);
    });
    return value;
  }

  /** What was read is old: somebody has changed it. */
  forget(): void {
    this.#readings.clear();
  }
}

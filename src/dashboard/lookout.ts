/** Reads from the stores on behalf of all viewers: what one of them has just read is not read again for another. */
import type { Clock, Milliseconds } from '../base/clock';

/** How long a reading stays fresh enough. */
const FRESH: Milliseconds = 2000;
/** How many readings are kept; each is as large as a page. */
const MOST = 200;

interface Reading {
  /** When it expires. */
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
   * The recent result of `read`, or a new one.
   *
   * @param subject what is read; readings with the same subject are shared
   */
  see<Value>(subject: string, read: () => Promise<Value>, fresh: Milliseconds = FRESH): Promise<Value> {
    const now = this.#clock.monotonic();
    // Expired readings are removed, because each may hold megabytes of jobs, and every visited page makes another one.
    for (const [old, { until }] of this.#readings) if (until <= now) this.#readings.delete(old);
    const known = this.#readings.get(subject);
    if (known !== undefined) return known.value as Promise<Value>;
    const value = read();
    this.#readings.set(subject, { until: now + fresh, value });
    for (const [oldest] of this.#readings) {
      if (this.#readings.size <= MOST) break;
      this.#readings.delete(oldest);
    }
    // After a failure the next reader asks again. Everyone waiting for this reading gets the error.
    value.catch(() => {
      if (this.#readings.get(subject)?.value === value) this.#readings.delete(subject);
    });
    return value;
  }

  /** Expires all readings, because somebody has changed something. */
  forget(): void {
    this.#readings.clear();
  }
}

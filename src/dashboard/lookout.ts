/** Reads from the stores on behalf of all viewers: what one of them has just read is not read again for another. */
import type { Clock, Milliseconds } from '../base/clock';
import { Recent } from '../base/collections';

/** How long a reading stays fresh enough. */
const FRESH: Milliseconds = 2000;
/** How many readings are kept; each is as large as a page. */
const MOST = 200;

interface Reading {
  readonly until: Milliseconds;
  readonly value: Promise<unknown>;
}

export class Lookout {
  readonly #clock: Clock;
  readonly #readings = new Recent<string, Reading>(MOST);

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
    for (const old of this.#readings.keys()) if (this.#readings.get(old)!.until <= now) this.#readings.delete(old);
    const known = this.#readings.get(subject);
    if (known !== undefined) return known.value as Promise<Value>;
    const value = read();
    this.#readings.set(subject, { until: now + fresh, value });
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

/** Whether a store has nothing left for a worker that is to stop then. */
import type { Clock, Milliseconds, Seconds } from '../clock/clock';
import type { Connection } from '../queue/connection';

/** So long nothing may come, and nothing be counted, where counts are estimates. */
const QUIET: Seconds = 5;

export interface EmptinessSettings {
  readonly connection: Connection;
  readonly queues: readonly string[];
  readonly clock: Clock;
  /** Until then the lease of a job may end whose process has died, by the monotonic clock. */
  readonly leftUntil: Milliseconds;
}

export class Emptiness {
  readonly #settings: EmptinessSettings;
  #quietSince: Milliseconds;

  constructor(settings: EmptinessSettings) {
    this.#settings = settings;
    this.#quietSince = settings.clock.monotonic();
  }

  /** A job came, or ended: estimates of before do not know of what it has left. */
  disturb(): void {
    this.#quietSince = this.#settings.clock.monotonic();
  }

  /**
   * @param nextLook when the store gives a job next, as far as the last reserve knows; Infinity: it knows of none
   * @throws what the store does not count for
   */
  async holds(nextLook: Milliseconds, paused: readonly string[]): Promise<boolean> {
    const { connection, clock } = this.#settings;
    const { counts, exactCounts } = connection.capabilities;
    if (!counts || (exactCounts && nextLook === Infinity)) return true;
    if (await this.#someWait(paused)) {
      this.disturb();
      return false;
    }
    return exactCounts || clock.monotonic() - this.#quietSince >= QUIET * 1000;
  }

  async #someWait(paused: readonly string[]): Promise<boolean> {
    const { connection, queues, clock, leftUntil } = this.#settings;
    const open = queues.filter((name) => !paused.includes(name));
    const counts = await Promise.all(open.map((name) => connection.counts(name)));
    const withReserved = clock.monotonic() < leftUntil;
    return counts.some(({ ready, delayed, reserved }) => ready + delayed + (withReserved ? reserved : 0) > 0);
  }
}

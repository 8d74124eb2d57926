/**
 * Whether a store has nothing left for a worker that is to stop then: nothing ready, or under `drain` nothing that is
 * delayed either and that it can run.
 */
import type { Clock, Milliseconds, Seconds } from '../base/clock';
import { readId } from '../payload/counters';
import type { Connection, Counts, PeekedJob } from '../connections/contract';

/** So long nothing may come, and nothing be counted, where counts are estimates. */
const QUIET: Seconds = 5;

/** Of more than so many that are delayed, none is looked at: their number has to do. */
const LONGEST_LOOK = 1000;

export interface EmptinessSettings {
  readonly connection: Connection;
  readonly queues: readonly string[];
  readonly clock: Clock;
  /** What is delayed counts too. */
  readonly drain: boolean;
  /** Until then the lease of a job may end whose process has died, by the monotonic clock. */
  readonly leftUntil: Milliseconds;
}

export class Emptiness {
  readonly #settings: EmptinessSettings;
  #quietSince: Milliseconds;
  /** Ids of jobs that were put off for other workers, by queue. They come back as often as they are taken. */
  readonly #forOthers = new Map<string, Set<string>>();

  constructor(settings: EmptinessSettings) {
    this.#settings = settings;
    this.#quietSince = settings.clock.monotonic();
  }

  /** A job came, or ended: estimates of before do not know of what it has left. */
  disturb(): void {
    this.#quietSince = this.#settings.clock.monotonic();
  }

  /** It came, and is one that only another worker can run. */
  leave({ queue, id }: { readonly queue: string; readonly id: string }): void {
    const left = this.#forOthers.get(queue);
    if (left === undefined) this.#forOthers.set(queue, new Set([id]));
    else left.add(id);
  }

  /**
   * @param nextLook when the store gives a job next, as far as the last reserve knows; Infinity: it knows of none;
   *   undefined: there was more than it gave, or something has come about since
   * @throws what the store does not count for
   */
  async holds(nextLook: Milliseconds | undefined, paused: readonly string[]): Promise<boolean> {
    const { connection, clock, drain } = this.#settings;
    const { counts, exactCounts } = connection.capabilities;
    const isKnown = drain ? nextLook === Infinity : nextLook !== undefined;
    if (!counts || (exactCounts && isKnown)) return true;
    if (await this.#someWait(paused)) {
      this.disturb();
      return false;
    }
    return exactCounts || clock.monotonic() - this.#quietSince >= QUIET * 1000;
  }

  async #someWait(paused: readonly string[]): Promise<boolean> {
    const open = this.#settings.queues.filter((name) => !paused.includes(name));
    const waits = await Promise.all(open.map((name) => this.#waitsOn(name)));
    return waits.includes(true);
  }

  async #waitsOn(queue: string): Promise<boolean> {
    const { connection, clock, drain, leftUntil } = this.#settings;
    const { ready, delayed, reserved }: Counts = await connection.counts(queue);
    if (ready > 0 || !drain) return ready > 0;
    if (reserved > 0 && clock.monotonic() < leftUntil) return true;
    return delayed > 0 && !(await this.#areForOthers(queue, delayed));
  }

  // By their ids, where the store shows them: as many as were put off here may be others by now.
  async #areForOthers(queue: string, delayed: number): Promise<boolean> {
    const { connection } = this.#settings;
    const left = this.#forOthers.get(queue);
    if (left === undefined || delayed > left.size) return false;
    if (!connection.capabilities.peek || delayed > LONGEST_LOOK) return true;
    let last: PeekedJob | undefined;
    for (let shown = 0; shown < delayed;) {
      const page = await connection.peek(queue, 'delayed', delayed, last?.place);
      if (!page.every(({ payload }) => left.has(readId(payload) ?? ''))) return false;
      last = page.at(-1);
      if (last?.place === undefined) break;
      shown += page.length;
    }
    return true;
  }
}

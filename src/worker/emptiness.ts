/**
 * Whether a store has nothing left for a worker that stops when it is empty: no ready jobs, and under `drain` no delayed
 * jobs either that this worker can run.
 */
import type { Clock, Milliseconds, Seconds } from '../base/clock';
import { readId } from '../payload/counters';
import type { PeekedJob } from '../connections/contract';
import type { WorkerSettings } from './settings';

/** Where counts are estimates, they must stay at zero for this long, and no job may come meanwhile. */
const QUIET: Seconds = 5;

/** If more than this many jobs are delayed, we compare only their number, not their ids. */
const LONGEST_LOOK = 1000;

export class Emptiness {
  readonly #settings: WorkerSettings;
  readonly #clock: Clock;
  /** Until this moment the leases of a dead process's jobs may still be running. */
  readonly #leftUntil: Milliseconds;
  #quietSince: Milliseconds;
  /** Ids of jobs that were put off for other workers, by queue. They come back each time they are taken. */
  readonly #forOthers = new Map<string, Set<string>>();

  constructor(settings: WorkerSettings) {
    const { application, process, lease } = settings;
    this.#settings = settings;
    this.#clock = application.clock;
    this.#quietSince = this.#clock.monotonic();
    this.#leftUntil = process.afterCrash === true ? this.#quietSince + lease * 1000 : -Infinity;
  }

  /** A job came or ended: earlier estimates do not include the jobs that it may have sent. */
  disturb(): void {
    this.#quietSince = this.#clock.monotonic();
  }

  /** Notes a job that only another worker can run. */
  leave({ queue, id }: { readonly queue: string; readonly id: string }): void {
    const left = this.#forOthers.get(queue) ?? new Set<string>();
    this.#forOthers.set(queue, left.add(id));
  }

  /**
   * @param nextLook when the store has a job next, as far as the last reserve knows; Infinity: it knows of none;
   *   undefined: it had more jobs than it gave, or something has happened since
   * @throws what `counts()` throws
   */
  async holds(nextLook: Milliseconds | undefined, paused: readonly string[]): Promise<boolean> {
    const { connection, options, queues } = this.#settings;
    const { counts, exactCounts } = connection.capabilities;
    const isKnown = options.drain ? nextLook === Infinity : nextLook !== undefined;
    if (!counts || (exactCounts && isKnown)) return true;
    const open = queues.filter(({ name }) => !paused.includes(name));
    const waits = await Promise.all(open.map(({ name }) => this.#waitsOn(name)));
    if (waits.includes(true)) {
      this.disturb();
      return false;
    }
    return exactCounts || this.#clock.monotonic() - this.#quietSince >= QUIET * 1000;
  }

  async #waitsOn(queue: string): Promise<boolean> {
    const { connection, options } = this.#settings;
    const { ready, delayed, reserved } = await connection.counts(queue);
    if (ready > 0 || !options.drain) return ready > 0;
    if (reserved > 0 && this.#clock.monotonic() < this.#leftUntil) return true;
    return delayed > 0 && !(await this.#areForOthers(queue, delayed));
  }

  // Compared by id where the store can list them: as many jobs as we put off may be delayed, and still be others.
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

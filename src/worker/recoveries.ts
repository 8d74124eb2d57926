/**
 * Tells the jobs that a worker takes over from one that died or fell silent from those that it merely meets again.
 *
 * A store says how often a job has crashed, and not since when: so each crash of a job is news once to each worker.
 */

const MOST_JOBS = 10_000;

export class Recoveries {
  /** The crashes of those that were met. */
  readonly #met = new Map<string, number>();

  /** Whether this worker has not met the job since its last crash. */
  isNew(id: string, crashes: number): boolean {
    if (crashes === 0 || this.#met.get(id) === crashes) return false;
    this.#met.set(id, crashes);
    for (const oldest of this.#met.keys()) {
      if (this.#met.size <= MOST_JOBS) break;
      this.#met.delete(oldest);
    }
    return true;
  }
}

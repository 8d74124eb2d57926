/**
 * Has the jobs whose next crash would be their last run apart: alone in their worker.
 *
 * A job that kills its process takes its neighbours with it, and they count a crash as well. Alone, the one to blame is
 * found, and nobody else is taken for poison. So a worker that is handed one holds it until all that came with it, or runs
 * already, has ended; others of its kind go back to the head of their queue, where they were.
 */
import type { RunningJob } from './running-job';

export class LastChance {
  readonly #isLast: (job: RunningJob) => boolean;
  #job: RunningJob | undefined;
  #runs = false;
  #wasMet = false;

  /** @param isLast whether the next crash of a job would be its last */
  constructor(isLast: (job: RunningJob) => boolean) {
    this.#isLast = isLast;
  }

  /** The one that waits for the others to end. */
  get held(): RunningJob | undefined {
    return this.#runs ? undefined : this.#job;
  }

  /** One is held, or runs: nothing else may start. */
  get isTaken(): boolean {
    return this.#job !== undefined;
  }

  /** How many jobs to ask for: those that crashed together come together, and all but one would go back. */
  get most(): number {
    return this.#wasMet ? 1 : Infinity;
  }

  /** Of what was reserved at once: what is to start, and what goes back. The first on its last chance is held. */
  split(jobs: readonly RunningJob[]): { readonly start: readonly RunningJob[]; readonly back: readonly RunningJob[] } {
    const [first, ...back] = jobs.filter(this.#isLast);
    this.#job = first;
    this.#wasMet = this.isTaken;
    return { start: this.isTaken ? jobs.filter((job) => job !== first && !back.includes(job)) : jobs, back };
  }

  /** What is held, to be run now. */
  start(): RunningJob {
    this.#runs = true;
    this.#job!.isApart = true;
    return this.#job!;
  }

  /** It has ended, if it was the one. */
  end(job: RunningJob): void {
    if (this.#job !== job) return;
    this.#job = undefined;
    this.#runs = false;
  }
}

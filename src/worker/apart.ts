/**
 * Runs a job whose next crash would be its last apart: alone in its worker.
 *
 * A job that kills its process takes its neighbours with it, and they count a crash as well. Alone, the one to blame is
 * found, and nobody else is taken for poison. So a worker that is handed such a job holds it until its own other jobs have
 * ended. Others of the kind go back to the head of their queue.
 */
import type { RunningJob } from './running-job';

export class Apart {
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

  /** One is held, or runs: no more jobs are asked for. */
  get isTaken(): boolean {
    return this.#job !== undefined;
  }

  /** How many jobs to ask for: those that crashed together come together, and all but one would go back. */
  get most(): number {
    return this.#wasMet ? 1 : Infinity;
  }

  /** What to start of the jobs of one reserve, and what to give back. The first on its last chance is held. */
  split(jobs: readonly RunningJob[]): { readonly start: readonly RunningJob[]; readonly back: readonly RunningJob[] } {
    const last = jobs.filter(this.#isLast);
    // One may be held already, that another call has brought meanwhile.
    const back = this.isTaken ? last : last.slice(1);
    this.#job ??= last[0];
    this.#wasMet = this.isTaken;
    return { start: last.length === 0 ? jobs : jobs.filter((job) => !last.includes(job)), back };
  }

  /** The one that is held, to be run now. */
  start(): RunningJob {
    this.#runs = true;
    this.#job!.isApart = true;
    return this.#job!;
  }

  /** The one that was held, to be given back. */
  release(): RunningJob | undefined {
    const { held } = this;
    if (held !== undefined) this.#job = undefined;
    return held;
  }

  /** It has ended, if it was the one. */
  ended(job: RunningJob): void {
    if (this.#job !== job) return;
    this.#job = undefined;
    this.#runs = false;
  }
}

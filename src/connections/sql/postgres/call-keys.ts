/** The unique keys of the jobs that one call pushes. Of those with the same one the first asks for it. */
import type { Holders, QueuedJob } from '../dialect';

export class CallKeys {
  readonly #jobs: readonly QueuedJob[];
  readonly #firsts = new Map<string, QueuedJob>();

  constructor(jobs: readonly QueuedJob[]) {
    this.#jobs = jobs;
    for (const job of jobs) {
      if (job.tie !== undefined && !this.#firsts.has(job.tie.key)) this.#firsts.set(job.tie.key, job);
    }
  }

  /** Each once. */
  get all(): readonly string[] {
    return [...this.#firsts.keys()];
  }

  /** It has no key, or is the first of its key: whether it goes in, the server says. */
  isAsked(job: QueuedJob): boolean {
    return job.tie === undefined || this.#firsts.get(job.tie.key) === job;
  }

  /** @param held the ids of the jobs that hold keys, by these */
  holders(held: Readonly<Record<string, string>>): Holders {
    const holders = new Map<number, { readonly duplicate: string }>();
    for (const [index, job] of this.#jobs.entries()) {
      if (job.tie === undefined) continue;
      const { key } = job.tie;
      const duplicate = held[key] ?? (this.isAsked(job) ? undefined : this.#firsts.get(key)!.uuid);
      if (duplicate !== undefined) holders.set(index, { duplicate });
    }
    return holders;
  }
}

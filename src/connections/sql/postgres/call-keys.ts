/** The unique keys of the jobs that one call pushes. Of those with the same one the first asks for it. */
import type { Pushed } from '../../contract';
import type { Holders, QueuedJob } from '../dialect';

/** What the server says of them, and of debounced jobs. */
export interface KeysAnswer {
  /** The ids of the jobs that hold keys, by these. */
  readonly held?: Readonly<Record<string, string>>;
  /** The ids of those whose places were taken, by the places of those that took them. */
  readonly replaced?: Readonly<Record<string, string>>;
}

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

  /** Those that ask for them, in the same order. */
  get firsts(): readonly QueuedJob[] {
    return [...this.#firsts.values()];
  }

  /** It has no key, or is the first of its key: whether it goes in, the server says. Debounced ones go by themselves. */
  isAsked(job: QueuedJob): boolean {
    return job.tie === undefined ? job.debounce === undefined : this.#firsts.get(job.tie.key) === job;
  }

  holders({ held = {}, replaced = {} }: KeysAnswer): Holders {
    const holders = new Map<number, Exclude<Pushed, 'queued'>>();
    for (const [index, id] of Object.entries(replaced)) holders.set(Number(index), { replaced: id });
    for (const [index, job] of this.#jobs.entries()) {
      if (job.tie === undefined) continue;
      const { key } = job.tie;
      const duplicate = held[key] ?? (this.isAsked(job) ? undefined : this.#firsts.get(key)!.uuid);
      if (duplicate !== undefined) holders.set(index, { duplicate });
    }
    return holders;
  }
}

/** The unique keys of the jobs that one call pushes. Of several jobs with the same key only the first asks for it. */
import type { Pushed } from '../../contract';
import type { Holders, QueuedJob } from '../dialect';

/** The server's answer about the keys, and about debounced jobs. */
export interface KeysAnswer {
  /** The ids of the jobs that hold keys, by key. */
  readonly held?: Readonly<Record<string, string>>;
  /** The ids of the debounced jobs that were replaced, by the indexes of the jobs that replaced them. */
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

  /** All keys, each once. */
  get all(): readonly string[] {
    return [...this.#firsts.keys()];
  }

  /** The jobs that ask for the keys, in the same order. */
  get firsts(): readonly QueuedJob[] {
    return [...this.#firsts.values()];
  }

  /**
   * Whether the job has no key, or is the first with its key: then the server decides whether it is added. Debounced jobs
   * are sent separately.
   */
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

/** The unique keys of the jobs that one call pushes. Of several jobs with the same key only the first asks for it. */
import type { Pushed } from '../contract';
import type { Holders, QueuedJob } from './dialect';

/** Whether any of the jobs has a unique key or a debounce key. */
export const hasKeys = (jobs: readonly QueuedJob[]): boolean =>
  jobs.some(({ tie, debounce }) => tie !== undefined || debounce !== undefined);

export class CallKeys {
  readonly jobs: readonly QueuedJob[];
  readonly hasKeys: boolean;
  /** Each unique key with the index of the job that asks for it. */
  readonly firsts = new Map<string, number>();

  constructor(jobs: readonly QueuedJob[]) {
    this.jobs = jobs;
    this.hasKeys = hasKeys(jobs);
    if (!this.hasKeys) return;
    for (const [index, { tie }] of jobs.entries()) {
      if (tie !== undefined && !this.firsts.has(tie.key)) this.firsts.set(tie.key, index);
    }
  }

  /**
   * Whether the job has no key, or is the first with its key: then the server decides whether it is added. Debounced jobs
   * are sent separately.
   */
  isAsked({ tie, debounce }: QueuedJob, index: number): boolean {
    return tie === undefined ? debounce === undefined : this.firsts.get(tie.key) === index;
  }

  /**
   * @param held the ids of the jobs that hold keys, by key
   * @param replaced the ids of the debounced jobs that were replaced, by the indexes of the jobs that replaced them
   */
  holders(
    held: ReadonlyMap<string, string>,
    replaced: Iterable<readonly [index: string, id: string]>,
  ): Holders | undefined {
    const holders = new Map<number, Exclude<Pushed, 'queued'>>();
    for (const [index, id] of replaced) holders.set(Number(index), { replaced: id });
    for (const [index, { tie }] of this.jobs.entries()) {
      if (tie === undefined) continue;
      const first = this.firsts.get(tie.key)!;
      const duplicate = held.get(tie.key) ?? (first === index ? undefined : this.jobs[first]!.uuid);
      if (duplicate !== undefined) holders.set(index, { duplicate });
    }
    return holders.size === 0 ? undefined : holders;
  }
}

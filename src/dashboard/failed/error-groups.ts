/** Groups failed jobs whose errors say the same about different things. */
import { commonText } from '../../application/failed/common-text';
import type { FailedJob } from '../../application/failed/failed-job';

export interface ErrorGroup {
  readonly name: string;
  /** What the errors have in common: a text in the first line of each. */
  readonly error: string;
  readonly queues: readonly string[];
  readonly count: number;
  readonly newest: FailedJob;
  readonly oldest: FailedJob;
}

/** Largest group first. @param jobs newest first */
export function groupsOf(jobs: readonly FailedJob[]): readonly ErrorGroup[] {
  const groups = new Map<string, FailedJob[]>();
  for (const job of jobs) {
    const key = JSON.stringify([job.name, commonText(job.exception)]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [job]);
    else group.push(job);
  }
  return [...groups.values()]
    .map((group) => ({
      name: group[0]!.name,
      error: commonText(group[0]!.exception),
      queues: [...new Set(group.map(({ queue }) => queue))],
      count: group.length,
      newest: group[0]!,
      oldest: group.at(-1)!,
    }))
    .toSorted((a, b) => b.count - a.count || b.newest.failedAt.getTime() - a.newest.failedAt.getTime());
}

/** Groups failed jobs whose errors say the same about different things. */
import { commonText, type FailedJob } from '../../application/failed/failed-filter';
import { groupsOf } from '../../base/collections';

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
export function errorGroups(jobs: readonly FailedJob[]): readonly ErrorGroup[] {
  const keyOf = ({ name, exception }: FailedJob): string => JSON.stringify([name, commonText(exception)]);
  return [...groupsOf(jobs, keyOf).values()]
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

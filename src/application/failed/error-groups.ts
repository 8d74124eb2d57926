/** Failed jobs, grouped by what their errors have in common. */
import type { Milliseconds } from '../../base/clock';
import { groupsOf } from '../../base/collections';
import { commonText, type FailedJob } from './failed-filter';

/** Groups failed jobs whose errors say the same about different things. */
export interface ErrorGroup {
  readonly name: string;
  /** What the errors have in common: a text in the first line of each. */
  readonly error: string;
  readonly queues: readonly string[];
  readonly count: number;
  readonly newest: FailedJob;
  readonly oldest: FailedJob;
  /** The newest first. */
  readonly jobs: readonly FailedJob[];
  /** When each failed, the newest first. */
  readonly moments: readonly Milliseconds[];
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
      jobs: group,
      moments: group.map(({ failedAt }) => failedAt.getTime()),
    }))
    .toSorted((a, b) => b.count - a.count || b.newest.failedAt.getTime() - a.newest.failedAt.getTime());
}

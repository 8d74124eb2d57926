/** The newest failed jobs, read in bounded steps. */
import { type ErrorGroup, errorGroups } from '../application/failed/error-groups';
import type { FailedJob } from '../application/failed/failed-filter';
import type { Milliseconds } from '../base/clock';
import { redact } from '../base/redact';
import { Budget } from './readings';
import type { PageContext } from './view';

const MOST_AT_ONCE = 500;
export const HOUR: Milliseconds = 3_600_000;
/** How long the look of the first page stays fresh: it may read megabytes, and the page is updated every few seconds. */
const FRESH: Milliseconds = 10_000;

export interface FailedLook {
  readonly jobs: readonly FailedJob[];
  /** Whether there are more jobs after the last one. */
  readonly isCut: boolean;
  /** How many there are in total. Undefined if some stores could not be reached. */
  readonly total: number | undefined;
  /** The troubles of connections that could not be reached. */
  readonly away: readonly string[];
}

/** @param from the position of the first job, 0 for the newest @param fresh how long the look may be reused */
export function lookAtFailed(
  { manager, lookout }: PageContext,
  queue?: string,
  from = 0,
  fresh?: Milliseconds,
): Promise<FailedLook> {
  const look = async (): Promise<FailedLook> => {
    const away = new Map<string, string>();
    const unreachable = (connection: string, error: Error): void =>
      void away.set(connection, `The failed jobs of ${connection} are missing here: ${redact(error.message)}`);
    // Concurrently, so that an unreachable store is waited for only once.
    const counting = totalOf(manager, queue);
    const jobs: FailedJob[] = [];
    const budget = new Budget(MOST_AT_ONCE);
    let isEnd = false;
    for (let limit = budget.next; !isEnd && limit > 0; limit = budget.next) {
      const page = await manager.failed.list({ queue, offset: from + jobs.length, limit, unreachable });
      jobs.push(...page);
      // A store may omit jobs that disappear while it is read, so only an empty page is the end. An unreachable store is not
      // asked again.
      isEnd = page.length === 0 || (page.length < limit && away.size > 0);
      for (const { payload, exception } of page) budget.spend(payload.length + exception.length);
    }
    const total = await counting;
    const isCut = !isEnd && from + jobs.length < (total ?? Infinity);
    return { jobs, isCut, total, away: [...away.values()] };
  };
  return lookout.see(`failed ${from} ${queue ?? ''}`, look, fresh);
}

export interface RecentFailures extends Pick<FailedLook, 'isCut' | 'away'> {
  /** How many jobs failed within the hour, as far as was looked. */
  readonly count: number;
  readonly groups: readonly ErrorGroup[];
}

export async function recentFailures(context: PageContext): Promise<RecentFailures> {
  const { jobs, isCut, away } = await lookAtFailed(context, undefined, 0, FRESH);
  const recent = jobs.filter(({ failedAt }) => failedAt.getTime() >= context.now - HOUR);
  return { count: recent.length, isCut: isCut && recent.length === jobs.length, groups: errorGroups(recent), away };
}

async function totalOf({ failed }: PageContext['manager'], queue: string | undefined): Promise<number | undefined> {
  try {
    return await failed.kept(queue);
  } catch {
    // The look itself reports unreachable stores.
    return undefined;
  }
}

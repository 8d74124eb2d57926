/** Reads failed jobs in bounded steps, newest first: a store may keep a hundred thousand, and each may be large. */
import type { FailedJob } from '../../application/failed/failed-filter';
import { redact } from '../../base/redact';
import { Budget } from '../budget';
import type { PageContext } from '../view';

const MOST_AT_ONCE = 500;

export interface FailedLook {
  readonly jobs: readonly FailedJob[];
  /** Whether there are more jobs after the last one. */
  readonly isCut: boolean;
  /** How many there are in total. Undefined if some stores could not be reached. */
  readonly total: number | undefined;
  /** The troubles of connections that could not be reached. */
  readonly away: readonly string[];
}

/** @param from the position of the first job, 0 for the newest */
export function lookAtFailed(
  { manager, lookout }: PageContext,
  queue: string | undefined,
  from: number,
): Promise<FailedLook> {
  return lookout.see(`failed ${from} ${queue ?? ''}`, async () => {
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
  });
}

async function totalOf({ failed }: PageContext['manager'], queue: string | undefined): Promise<number | undefined> {
  try {
    return await failed.kept(queue);
  } catch {
    // The look itself reports unreachable stores.
    return undefined;
  }
}

/** Reads failed jobs in bounded steps, newest first: a store may keep a hundred thousand, and each may be large. */
import type { FailedJob } from '../../application/failed/failed-job';
import { redact } from '../../base/redact';
import type { PageContext } from '../view';

/** Jobs that one look reads at most. */
const MOST = 1000;
/** Characters of payloads and errors after which the look ends. */
const LARGEST = 4 * 1024 * 1024;
/** Jobs of the first call: if they are large, even these are a lot. */
const FIRST = 20;
const MOST_OF_A_CALL = 500;

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
    let [size, limit, isEnd] = [0, FIRST, false];
    while (!isEnd && jobs.length < MOST && size < LARGEST) {
      const page = await manager.failed.list({ queue, offset: from + jobs.length, limit, unreachable });
      jobs.push(...page);
      // A store may omit jobs that disappear while it is read, so only an empty page is the end. An unreachable store is not
      // asked again.
      isEnd = page.length === 0 || (page.length < limit && away.size > 0);
      size += page.reduce((sum, { payload, exception }) => sum + payload.length + exception.length, 0);
      const fitting = Math.ceil(((LARGEST - size) * jobs.length) / Math.max(size, 1));
      limit = Math.max(1, Math.min(MOST_OF_A_CALL, MOST - jobs.length, fitting));
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

/** Looks at failed jobs in bounded steps, newest first: a store may keep a hundred thousand of them, and each may be large. */
import type { FailedJob } from '../../application/failed/failed-job';
import { redact } from '../../base/redact';
import type { PageContext } from '../view';

/** Jobs that one look goes through. */
const MOST = 1000;
/** Characters of payloads and errors; what goes beyond ends the look. */
const LARGEST = 4 * 1024 * 1024;
/** Jobs of the first call: of large ones even these are many. */
const FIRST = 20;
const MOST_OF_A_CALL = 500;

export interface FailedLook {
  readonly jobs: readonly FailedJob[];
  /** Behind the last of them there is another. */
  readonly isCut: boolean;
  /** How many there are in all. Undefined: not all stores could be asked. */
  readonly total: number | undefined;
  /** What is wrong with connections that could not be asked. */
  readonly away: readonly string[];
}

/** @param from the place of the first of them, 0 for the newest */
export function lookAtFailed(
  { manager, lookout }: PageContext,
  queue: string | undefined,
  from: number,
): Promise<FailedLook> {
  return lookout.see(`failed ${from} ${queue ?? ''}`, async () => {
    const away = new Map<string, string>();
    const unreachable = (connection: string, error: Error): void =>
      void away.set(connection, `The failed jobs of ${connection} are not among these: ${redact(error.message)}`);
    // Beside the rest: a store that is away is waited for once.
    const counting = totalOf(manager, queue);
    const jobs: FailedJob[] = [];
    let [size, limit, isEnd] = [0, FIRST, false];
    while (!isEnd && jobs.length < MOST && size < LARGEST) {
      const page = await manager.failed.list({ queue, offset: from + jobs.length, limit, unreachable });
      jobs.push(...page);
      // A store may leave out what goes while it is read: only nothing is the end. One that is away is not asked twice.
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
    // The look itself tells of those that are away.
    return undefined;
  }
}

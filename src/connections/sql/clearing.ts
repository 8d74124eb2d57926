/**
 * Removes all jobs of a queue in pages. Jobs pushed meanwhile stay, or this might never end.
 *
 * A server keeps removed rows in its indexes for a while, and pages that all began at the head would pass those of all pages
 * before. So of a long queue each page begins where the one before ended. What workers have taken or given back meanwhile is
 * found from the head.
 */
import { WAITING_STATES, type WaitingState } from '../contract';
import type { Dialect, Removed } from './dialect';
import { AFTER_ALL, linedUp } from './page';
import { numeral, raw, sql, valueOf, type RowId, type Sql, type Work } from './statement';

/** Jobs that one call removes. */
const PAGE = 200;

/** Removes one page, and counts its jobs in their batches. */
type Removing = <T extends Removed>(page: () => Work<T>) => Promise<T>;

/** `last`: the place of the last one. Undefined if there was none. */
interface RemovedPage extends Removed {
  readonly last: string | undefined;
}

/** The newest id: jobs pushed from now on have larger ones. */
export function* newestJob({ tables }: Dialect): Work<RowId> {
  return String((yield* valueOf(sql`SELECT max(id) FROM ${tables.jobs}`)) ?? 0);
}

/** Returns how many it removed. @param read runs work that only reads */
export async function clearQueue(
  dialect: Dialect,
  queue: string,
  read: (work: () => Work<RowId>) => Promise<RowId>,
  remove: Removing,
): Promise<number> {
  let newest: RowId | undefined;
  for (let sum = 0; ;) {
    const { removed } = await remove(() => clearHeads(dialect, queue, newest ?? AFTER_ALL, PAGE));
    sum += removed;
    if (removed < PAGE) return sum;
    const bound = (newest ??= await read(() => newestJob(dialect)));
    for (const state of WAITING_STATES) {
      let after: string | undefined;
      do {
        const page: RemovedPage = await remove(() => clearBehind(dialect, queue, state, bound, after));
        sum += page.removed;
        after = page.last;
      } while (after !== undefined);
    }
  }
}

/** Removes up to `limit` jobs of all states with ids up to `newest`. */
export function clearHeads({ line, removeJobs }: Dialect, queue: string, newest: RowId, limit: number): Work<Removed> {
  const [ready, delayed, reserved] = WAITING_STATES.map(
    (state) => sql`SELECT id FROM (SELECT id ${line.of(queue)} AND ${line.state[state]} AND id <= ${numeral(newest)}
      LIMIT ${limit}) AS ${raw(`${state}_jobs`)}`,
  ) as [Sql, Sql, Sql];
  const page = sql`SELECT id FROM (${ready} UNION ALL ${delayed} UNION ALL ${reserved}) AS states LIMIT ${limit}`;
  return removeJobs(page);
}

/** Removes the next jobs of a state with ids up to `newest`, whatever state they have got into meanwhile. */
export function* clearBehind(
  { line, tables, removeJobs }: Dialect,
  queue: string,
  state: WaitingState,
  newest: RowId,
  after: string | undefined,
): Work<RemovedPage> {
  const jobs = (yield* linedUp(line, queue, state, PAGE, after)).filter(({ id }) => BigInt(id) <= BigInt(newest));
  const last = jobs.at(-1)?.place;
  if (last === undefined) return { removed: 0, tied: [], last };
  const page = sql`SELECT id FROM ${tables.jobs} WHERE id IN (${jobs.map(({ id }) => numeral(id))})`;
  return { ...(yield* removeJobs(page)), last };
}

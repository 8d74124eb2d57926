/** What is made of the rows that were reserved: the texts that workers see, what is mended in them, and what can never run. */
import { fenceOf, hasId, withCounters, withId } from '../../../payload/counters';
import { NOT_AN_OBJECT, UNREADABLE_NAME } from '../../../payload/unreadable';
import { uuidv7 } from '../../../payload/uuid';
import type { Reservation, SetAside } from '../../contract';
import { countersIn } from '../job-text';
import type { Ending, Exchange, Exchanged, JobStatements, ReservationToken, TakenJob } from './dialect';
import type { SqlSession } from './sql-session';

export interface ReservedJobs {
  readonly reservations: readonly Reservation[];
  readonly setAside: readonly SetAside[];
  /** To be written before the reservations are handed out. */
  readonly rewritten: readonly (ReservationToken & { readonly payload: Buffer; readonly uuid: string })[];
  /** Moves what is no JSON object to the failed jobs: it must not stand in the way of what can run. */
  readonly removed: readonly Ending[];
}

/** Asks for the reasons of those that were cancelled where there are any alone. */
export async function exchange(jobs: JobStatements, session: SqlSession, asked: Exchange): Promise<Exchanged> {
  const exchanged = await jobs.exchange(session, asked);
  const ending = exchanged.taken.filter(({ cancelled }) => cancelled !== false).map(({ id }) => id);
  if (ending.length === 0) return exchanged;
  const cancelled = await jobs.cancelled(session, ending);
  return { ...exchanged, taken: exchanged.taken.map((job) => ({ ...job, cancelled: cancelled.get(job.id) ?? false })) };
}

/** @param connection its name in the configuration */
export function reservedJobs(taken: readonly TakenJob[], connection: string): ReservedJobs {
  const reservations: Reservation[] = [];
  const setAside: SetAside[] = [];
  const rewritten: { id: number; fence: number; payload: Buffer; uuid: string }[] = [];
  const removed: Ending[] = [];
  const texts = new Set<string>();
  for (const { id, queue, payload: stored, counters, cancelled } of taken) {
    const token: ReservationToken = { id, fence: fenceOf(counters) };
    if (countersIn(stored) === undefined) {
      const uuid = uuidv7();
      const failure = { id: uuid, name: UNREADABLE_NAME, exception: NOT_AN_OBJECT };
      removed.push({
        ...token,
        kind: 'failed',
        asStored: true,
        entry: { ...failure, connection, queue, payload: stored, attempts: 0 },
      });
      setAside.push({ queue, id: uuid, reason: NOT_AN_OBJECT });
      continue;
    }
    let payload = withCounters(stored, counters);
    const text = payload.toString('latin1');
    // A twin of one that is handed out by the same call gets an id of its own: both may fail, and be kept.
    if (!hasId(payload) || texts.has(text)) {
      const uuid = uuidv7();
      payload = withId(payload, uuid);
      rewritten.push({ ...token, payload, uuid });
    }
    texts.add(text);
    reservations.push({ queue, payload, counters, token, ...(cancelled !== false && { cancelled }) });
  }
  return { reservations, setAside, rewritten, removed };
}

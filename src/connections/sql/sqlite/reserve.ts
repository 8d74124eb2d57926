/** How jobs are handed out: leases that have ended and jobs that are due first, then the first in line. Part of a transaction. */
import type { Seconds } from '../../../base/clock';
import { fenceOf, hasId, withCounters, withId } from '../../../payload/counters';
import { NOT_AN_OBJECT, UNREADABLE_NAME } from '../../../payload/unreadable';
import { uuidv7 } from '../../../payload/uuid';
import type { Reservation, ReserveReply, ReserveRequest, SetAside } from '../../contract';
import { MOST_BYTES, MOST_JOBS } from '../../../base/pages';
import { countersIn } from '../job-text';
import type { StoredJob } from '../job-text';
import type { Bounds, JobTable, Outlook } from './job-table';
import { toMicroseconds } from './moment';
import type { SqliteTables } from './sqlite-tables';

/** What finds a reservation again: a job's id is never used twice, its fence grows with each reservation. */
export interface ReservationToken {
  readonly id: number;
  readonly fence: number;
}

class Budget implements Bounds {
  jobs: number;
  bytes = MOST_BYTES;
  first = true;

  constructor(jobs = MOST_JOBS) {
    this.jobs = Math.min(jobs, MOST_JOBS);
  }

  get left(): boolean {
    return this.jobs > 0 && (this.first || this.bytes > 0);
  }

  spend(sizes: readonly number[]): void {
    if (sizes.length > 0) this.first = false;
    this.jobs -= sizes.length;
    for (const size of sizes) this.bytes -= size;
  }
}

export function reserve(
  tables: SqliteTables,
  { queues, limit, lease }: ReserveRequest,
  connection: string,
  now: Seconds,
): ReserveReply {
  const { jobs } = tables;
  const [reclaimed, promoted, taken] = [new Budget(), new Budget(), new Budget(limit)];
  const reservations: Reservation[] = [];
  const setAside: SetAside[] = [];
  const texts = new Set<string>();
  for (const queue of new Set(queues)) {
    const { leaseEnd, due, pausedUntil } = jobs.outlook(queue);
    if (leaseEnd <= now && reclaimed.left) reclaimed.spend(jobs.reclaim(queue, now, reclaimed));
    if (due <= now && promoted.left) promoted.spend(jobs.promote(queue, now, promoted));
    if (pausedUntil > now || !taken.left) continue;
    const found = jobs.take(queue, now, lease, taken);
    taken.spend(found.map(({ payload }) => payload.length));
    for (const job of found) {
      if (countersIn(job.payload) === undefined) setAside.push(putAside(tables, queue, job, connection, now));
      else reservations.push(reservationOf(tables, queue, job, texts));
    }
  }
  return { reservations, setAside, ...outlookOf(jobs, queues, now) };
}

/** What `reserve` would reply where it would change nothing; undefined: there is something to do. */
export function idleReply({ jobs }: SqliteTables, queues: readonly string[], now: Seconds): ReserveReply | undefined {
  const outlooks = queues.map((queue) => jobs.outlook(queue));
  const isIdle = ({ ready, pausedUntil, due, leaseEnd }: Outlook): boolean =>
    (pausedUntil > now || !ready) && due > now && leaseEnd > now;
  if (!outlooks.every(isIdle)) return undefined;
  return { reservations: [], setAside: [], ...outlookOf(jobs, queues, now, outlooks) };
}

/** Seconds until a reserve may find something; 0: now. Changes nothing. */
export function nextIn({ jobs }: SqliteTables, queues: readonly string[], now: Seconds): Seconds {
  return outlookOf(jobs, queues, now).nextIn;
}

/** What a reply says of the time to come. */
function outlookOf(
  jobs: JobTable,
  queues: readonly string[],
  now: Seconds,
  outlooks = queues.map((queue) => jobs.outlook(queue)),
): Pick<ReserveReply, 'nextIn' | 'now' | 'paused' | 'restart'> {
  const isPaused = ({ pausedUntil }: Outlook): boolean => pausedUntil > now;
  const moments = outlooks.flatMap((outlook) => {
    if (isPaused(outlook)) return [outlook.pausedUntil];
    return outlook.ready ? [now] : [outlook.due, outlook.leaseEnd];
  });
  const paused = queues.filter((_, index) => isPaused(outlooks[index]!));
  const restart = outlooks[0]?.restart;
  return {
    nextIn: Math.max(toMicroseconds(Math.min(...moments, Infinity) - now), 0),
    now: now * 1000,
    ...(paused.length > 0 && { paused }),
    ...(restart !== undefined && { restart }),
  };
}

/** `texts`: those handed out by this call already. A twin of one gets an id of its own: both may fail, and be kept. */
function reservationOf({ jobs, ids }: SqliteTables, queue: string, job: StoredJob, texts: Set<string>): Reservation {
  const { id, counters, cancelled } = job;
  let payload = withCounters(job.payload, counters);
  const text = payload.toString('latin1');
  if (!hasId(payload) || texts.has(text)) {
    const uuid = uuidv7();
    payload = withId(payload, uuid);
    jobs.rewrite(id, payload, uuid);
  }
  texts.add(text);
  const token: ReservationToken = { id, fence: fenceOf(counters) };
  return { queue, payload, counters, token, ...(cancelled && { cancelled: ids.cancelled(id) }) };
}

/** What is no JSON object can never run: it must not stand in the way of what can. */
function putAside(tables: SqliteTables, queue: string, job: StoredJob, connection: string, now: Seconds): SetAside {
  const { payload } = job;
  const id = uuidv7();
  tables.jobs.delete(job.id);
  const why = { name: UNREADABLE_NAME, exception: NOT_AN_OBJECT };
  tables.failed.put({ ...why, id, connection, queue, payload, attempts: 0 }, now);
  return { queue, id, reason: NOT_AN_OBJECT };
}

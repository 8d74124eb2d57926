/** How jobs are handed out: leases that have ended and jobs that are due first, then the first in line. Part of a transaction. */
import type { Seconds } from '../../../clock/clock';
import { fenceOf, hasId, withCounters, withId } from '../../../payload/counters';
import { NOT_AN_OBJECT, UNREADABLE_NAME } from '../../../payload/unreadable';
import { uuidv7 } from '../../../payload/uuid';
import type { Reservation, ReserveReply, ReserveRequest, SetAside } from '../../../queue/connection';
import type { Bounds, JobTable, StoredJob } from './job-table';
import { countersIn } from './job-text';
import { toMicroseconds } from './moment';
import type { SqliteTables } from './sqlite-tables';

const MOST_JOBS = 100;
const MOST_BYTES = 1024 * 1024;

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
    const { leaseEnd, due } = jobs.outlook(queue);
    if (leaseEnd <= now && reclaimed.left) reclaimed.spend(jobs.reclaim(queue, now, reclaimed));
    if (due <= now && promoted.left) promoted.spend(jobs.promote(queue, now, promoted));
    if (!taken.left) continue;
    const found = jobs.take(queue, now, lease, taken);
    taken.spend(found.map(({ payload }) => payload.length));
    for (const job of found) {
      if (countersIn(job.payload) === undefined) setAside.push(putAside(tables, queue, job, connection, now));
      else reservations.push(reservationOf(jobs, queue, job, texts));
    }
  }
  return { reservations, setAside, nextIn: nextIn(jobs, queues, now) };
}

/** Seconds until a reserve may find something; 0: now. Changes nothing. */
export function nextIn(jobs: JobTable, queues: readonly string[], now: Seconds): Seconds {
  let next = Infinity;
  for (const queue of queues) {
    const { ready, due, leaseEnd } = jobs.outlook(queue);
    if (ready) return 0;
    next = Math.min(next, due, leaseEnd);
  }
  return Math.max(toMicroseconds(next - now), 0);
}

/** `texts`: those handed out by this call already. A twin of one gets an id of its own: both may fail, and be kept. */
function reservationOf(jobs: JobTable, queue: string, job: StoredJob, texts: Set<string>): Reservation {
  const { id, counters } = job;
  let payload = withCounters(job.payload, counters);
  if (!hasId(payload) || texts.has(payload.toString('latin1'))) {
    payload = withId(payload, uuidv7());
    jobs.rewrite(id, payload);
  }
  texts.add(payload.toString('latin1'));
  const token: ReservationToken = { id, fence: fenceOf(counters) };
  return { queue, payload, counters, token };
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

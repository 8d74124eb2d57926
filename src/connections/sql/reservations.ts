/** Makes reservations from rows that were taken, and endings from workers' settlements. */
import {
  countersIn,
  fenceOf,
  hasId,
  noCounters,
  withCounters,
  withId,
  NOT_AN_OBJECT,
  UNREADABLE_NAME,
} from '../../payload/counters';
import { readTies } from '../../payload/ties';
import { uuidv7 } from '../../payload/uuid';
import type { FollowUp, Reservation, Settlement } from '../contract';
import { changeBy } from '../kit/batch-counts';
import type { Ending, Leaving, QueuedJob, ReservationToken, TakenJob } from './dialect';
import { newJob } from './job-row';
import type { Rewritten } from './jobs';

type Failed = Extract<Settlement, { outcome: 'failed' }>;

export interface HandedOut {
  readonly reservations: readonly Reservation[];
  /** To be written before the reservations are handed out. */
  readonly rewritten: readonly Rewritten[];
  /** The settlements of payloads that are not JSON objects, which must not block jobs that can run. */
  readonly unreadable: readonly Failed[];
}

export function handedOut(taken: readonly TakenJob[]): HandedOut {
  const reservations: Reservation[] = [];
  const rewritten: Rewritten[] = [];
  const unreadable: Failed[] = [];
  const texts = new Set<string>();
  for (const { id, queue, payload: stored, counters, cancelled } of taken) {
    const token: ReservationToken = { id, fence: fenceOf(counters) };
    if (countersIn(stored) === undefined) {
      const failure = { id: uuidv7(), name: UNREADABLE_NAME, exception: NOT_AN_OBJECT };
      const reservation = { queue, payload: stored, counters, token };
      unreadable.push({ outcome: 'failed', reservation, counters: noCounters, failure });
      continue;
    }
    let payload = withCounters(stored, counters);
    const text = payload.toString('latin1');
    // A second job with the same text gets an id of its own: both may fail, and both are to be kept.
    if (!hasId(payload) || texts.has(text)) {
      const uuid = uuidv7();
      payload = withId(payload, uuid);
      rewritten.push({ ...token, payload, uuid });
    }
    texts.add(text);
    reservations.push({ queue, payload, counters, token, ...(cancelled !== false && { cancelled }) });
  }
  return { reservations, rewritten, unreadable };
}

export function endingOf(settlement: Settlement, connection: string): Ending {
  const leaves = leavingOf(settlement);
  const ending = plainEndingOf(settlement, connection);
  return leaves === undefined ? ending : { ...ending, leaves };
}

/** Undefined if the job belongs to no batch, or goes back to its queue. */
function leavingOf(settlement: Settlement): Leaving | undefined {
  const tie = settlement.outcome === 'released' ? undefined : readTies(settlement.reservation.payload)?.batch;
  return tie && { id: tie.id, change: changeBy(tie, settlement) };
}

/** The ending without its effect on a batch. */
function plainEndingOf(settlement: Settlement, connection: string): Ending {
  const { reservation } = settlement;
  const { queue } = reservation;
  const token = reservation.token as ReservationToken;
  if (settlement.outcome === 'released') {
    const { delay, dueAt, front, counters } = settlement;
    const due = dueAt === undefined ? undefined : dueAt / 1000;
    const isFree = counters.releases > reservation.counters.releases;
    const tied = isFree ? readTies(reservation.payload) : undefined;
    const frees = settlement.frees === true && tied?.unique !== undefined ? tied : undefined;
    const retakes = frees === undefined && tied?.unique?.until === 'start' ? tied : undefined;
    return { ...token, kind: 'released', queue, delay, due, front, retakes, frees, counters };
  }
  if (settlement.outcome === 'cancelled') return { ...token, kind: 'removed' };
  const next = settlement.next?.map(followerOf);
  if (settlement.outcome === 'completed') {
    // Usually there are no followers, and an extra field costs thousands of instructions.
    return next === undefined ? { ...token, kind: 'removed' } : { ...token, kind: 'removed', next };
  }
  const { counters, failure } = settlement;
  const asStored = countersIn(reservation.payload) === undefined;
  const payload = asStored ? reservation.payload : withCounters(reservation.payload, counters);
  const entry = { ...failure, connection, queue, payload, attempts: counters.attempts };
  return { ...token, kind: 'failed', entry, asStored, next };
}

export function followerOf({ queue, entry: { payload, delay = 0, dueAt } }: FollowUp): QueuedJob {
  return { ...newJob(payload, delay, dueAt), queue, unique: false };
}

/** The bytes that a settlement sends: only a failed job sends its payload again; followers are added. */
export function sizeOf(settlement: Settlement): number {
  if (settlement.outcome === 'released' || settlement.outcome === 'cancelled') return 0;
  const { next, reservation } = settlement;
  const own = settlement.outcome === 'failed' ? reservation.payload.length + settlement.failure.exception.length : 0;
  return next === undefined ? own : next.reduce((sum, { entry }) => sum + Buffer.byteLength(entry.payload), own);
}

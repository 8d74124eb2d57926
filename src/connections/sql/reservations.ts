/** What is handed out, made of the rows that were taken; and how it ends, made of what workers say. */
import { fenceOf, hasId, noCounters, withCounters, withId } from '../../payload/counters';
import { NOT_AN_OBJECT, UNREADABLE_NAME } from '../../payload/unreadable';
import { uuidv7 } from '../../payload/uuid';
import type { Reservation, Settlement } from '../contract';
import type { Ending, ReservationToken, TakenJob } from './dialect';
import { countersIn } from './job-row';
import type { Rewritten } from './jobs';

type Failed = Extract<Settlement, { outcome: 'failed' }>;

export interface HandedOut {
  readonly reservations: readonly Reservation[];
  /** To be written before the reservations are handed out. */
  readonly rewritten: readonly Rewritten[];
  /** The ends of what is no JSON object: it must not stand in the way of what can run. */
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
    // A twin of one that is handed out by the same call gets an id of its own: both may fail, and be kept.
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

/** @param connection its name in the configuration */
export function endingOf(settlement: Settlement, connection: string): Ending {
  const { reservation } = settlement;
  const { queue } = reservation;
  const token = reservation.token as ReservationToken;
  if (settlement.outcome === 'released') {
    const { delay, dueAt, front, counters } = settlement;
    const due = dueAt === undefined ? undefined : dueAt / 1000;
    return { ...token, kind: 'released', queue, delay, due, front, counters };
  }
  if (settlement.outcome !== 'failed') return { ...token, kind: 'removed' };
  const { counters, failure } = settlement;
  const asStored = countersIn(reservation.payload) === undefined;
  const payload = asStored ? reservation.payload : withCounters(reservation.payload, counters);
  const entry = { ...failure, connection, queue, payload, attempts: counters.attempts };
  return { ...token, kind: 'failed', entry, asStored };
}

/** Only what fails sends its text again. */
export const sizeOf = (settlement: Settlement): number =>
  settlement.outcome === 'failed' ? settlement.reservation.payload.length + settlement.failure.exception.length : 0;

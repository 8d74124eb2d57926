/** Settlements as the statements take them. */
import { withCounters } from '../../../payload/counters';
import type { Settlement } from '../../contract';
import type { Ending, ReservationToken } from './dialect';

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
  const payload = withCounters(reservation.payload, counters);
  return { ...token, kind: 'failed', entry: { ...failure, connection, queue, payload, attempts: counters.attempts } };
}

/** Only what fails sends its text again. */
export const sizeOf = (settlement: Settlement): number =>
  settlement.outcome === 'failed' ? settlement.reservation.payload.length + settlement.failure.exception.length : 0;

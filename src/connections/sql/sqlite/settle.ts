/** How a reservation ends in the tables. Part of a transaction: a job that fails is in one table or in the other. */
import type { Seconds } from '../../../base/clock';
import { withCounters } from '../../../payload/counters';
import type { Settlement, SettleResult } from '../../contract';
import { delayAt } from './moment';
import type { ReservationToken } from './reserve';
import type { SqliteTables } from './sqlite-tables';

export function settle(tables: SqliteTables, settlement: Settlement, connection: string, now: Seconds): SettleResult {
  return settled(tables, settlement, connection, now) ? 'settled' : 'lost';
}

function settled({ jobs, failed }: SqliteTables, settlement: Settlement, connection: string, now: Seconds): boolean {
  const { reservation } = settlement;
  const { queue } = reservation;
  const { id, fence } = reservation.token as ReservationToken;
  if (settlement.outcome === 'released') {
    const { counters, front = false } = settlement;
    if (front) return jobs.giveBack(id, fence, counters, now);
    return jobs.release(id, fence, queue, counters, now, delayAt(settlement, now));
  }
  if (!jobs.complete(id, fence)) return false;
  if (settlement.outcome === 'failed') {
    const { counters, failure } = settlement;
    const payload = withCounters(reservation.payload, counters);
    failed.add({ ...failure, connection, queue, payload, attempts: counters.attempts }, now);
  }
  return true;
}

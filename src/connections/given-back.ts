/** What was reserved and is not started: back to where it came from, at no cost in tries. */
import { afterFreeRelease } from '../payload/counters';
import type { Reservation, Settlement } from './contract';

export function givenBack(reservation: Reservation): Settlement {
  const counters = afterFreeRelease(reservation.counters);
  return { outcome: 'released', reservation, delay: 0, front: true, counters };
}

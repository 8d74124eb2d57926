/** The settlement of a job that was reserved but not started: back to its place, at no cost in tries. */
import { afterFreeRelease } from '../payload/counters';
import type { Reservation, Settlement } from './contract';

export function givenBack(reservation: Reservation): Settlement {
  const counters = afterFreeRelease(reservation.counters);
  return { outcome: 'released', reservation, delay: 0, front: true, counters };
}

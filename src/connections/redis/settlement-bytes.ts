/** The size of the texts that travel with the end of a job: its own text, and those of the jobs that follow it. */
import { pageBytes } from '../../base/pages';
import type { Settlement } from '../contract';
import { nextOf } from '../kit/settling';

export function bytesOf(settlement: Settlement): number {
  let bytes = settlement.reservation.payload.length;
  for (const { entry } of nextOf(settlement)) bytes += pageBytes(entry.payload);
  return bytes;
}

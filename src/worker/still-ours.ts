/** Whether a job is still its worker's, by the word of the store, which renews its lease for it. */
import type { Seconds } from '../base/clock';
import { resultOf } from '../connections/answer';
import type { Connection, Reservation } from '../connections/contract';

/** True also where a store has no leases, and cannot tell. @throws what the store throws */
export async function isStillOurs(connection: Connection, reservation: Reservation, lease: Seconds): Promise<boolean> {
  if (!connection.capabilities.renew) return true;
  const [answer] = await connection.renew([reservation], lease);
  return (await resultOf(answer!)) !== 'lost';
}

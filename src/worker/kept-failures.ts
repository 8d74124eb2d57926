/**
 * Keeps the failed jobs of a connection that cannot keep them itself in the failed store of another connection.
 *
 * The failure is written there before the job is removed. After a crash between the two, the first step is repeated, which
 * changes nothing; a failure is never lost.
 */
import type { Seconds } from '../base/clock';
import { errorMessage } from '../base/exception-text';
import type { Connection, Reservation, Settlement } from '../connections/contract';
import type { FailedStore, Forgotten } from '../connections/failed-store';
import type { WorkerSettings } from './settings';
import { hasCounters, withCounters } from '../payload/counters';

export class KeptFailures {
  readonly #settings: WorkerSettings;
  readonly #failedStore: FailedStore;
  readonly #kept = new WeakMap<Reservation, Forgotten>();

  constructor(settings: WorkerSettings, failedStore: FailedStore) {
    this.#settings = settings;
    this.#failedStore = failedStore;
  }

  /** Keeps a failure, and returns the settlement that is left to write. @throws what either store throws */
  async keep(settlement: Settlement): Promise<Settlement> {
    if (settlement.outcome !== 'failed') return settlement;
    const { connection, lease } = this.#settings;
    const { reservation, failure, counters, next } = settlement;
    const removed = { outcome: 'completed', reservation, next } as const;
    // A frozen worker may no longer hold the job: a job that somebody else runs has not failed.
    if (!(await isStillOurs(connection, reservation, lease))) return removed;
    const { queue, payload: given } = reservation;
    // A payload that is not a JSON object is kept byte for byte.
    const payload = hasCounters(given) ? withCounters(given, counters) : given;
    const { attempts } = counters;
    const id = await this.#failedStore.put({ ...failure, connection: connection.name, queue, payload, attempts });
    this.#kept.set(reservation, { id, queue, payload });
    return removed;
  }

  /** The job turned out to be somebody else's, so it has not failed. Undefined if nothing was kept. Never rejects. */
  takeBack(reservation: Reservation): Promise<void> | undefined {
    const kept = this.#kept.get(reservation);
    return kept && this.#forget(kept);
  }

  async #forget(kept: Forgotten): Promise<void> {
    const { connection, application } = this.#settings;
    try {
      await this.#failedStore.forget(kept);
    } catch (error) {
      const { id } = kept;
      const why = errorMessage(error);
      const message = `The failed job ${id} is kept although another worker has the job; it could not be removed: ${why}`;
      application.logger.warn({ connection: connection.name, id }, message);
    }
  }
}

/**
 * Whether a job is still its worker's, according to the store, which renews the lease as it answers. True if the store has
 * no leases and cannot tell. @throws what the store throws
 */
export async function isStillOurs(connection: Connection, reservation: Reservation, lease: Seconds): Promise<boolean> {
  if (!connection.capabilities.renew) return true;
  return (await connection.renew([reservation], lease))[0] !== 'lost';
}

/** Orders to the workers of a SQLite file. They are on disk when they are confirmed, as a push is. */
import type { Seconds } from '../../../base/clock';
import { uuidv7 } from '../../../payload/uuid';
import type { Reservation } from '../../contract';
import type { CancelResult, Control } from '../../control';
import type { Pause } from '../../pause';
import type { ReservationToken } from './reserve';
import type { SqliteStore } from './sqlite-store';
import type { SqliteTables } from './sqlite-tables';

export interface ControlOptions {
  readonly store: SqliteStore<SqliteTables>;
  readonly checkOpen: (operation: string) => void;
  readonly now: () => Seconds;
  /** Called when the jobs of a queue can be had again. */
  readonly wroteTo: (queue: string) => void;
}

export class SqliteControl implements Control {
  readonly #options: ControlOptions;

  constructor(options: ControlOptions) {
    this.#options = options;
  }

  async cancel(id: string, queue?: string, reason?: string): Promise<CancelResult> {
    const consequence = `job ${id} was not cancelled`;
    for (;;) {
      const result = await this.#order('control.cancel', consequence, ({ ids }) => ids.cancel(id, queue, reason));
      if (result !== 'unknown') return result;
      // It may be among those whose ids nobody has read yet; each is read once.
      if (!(await this.#options.store.write({ consequence }, ({ ids }) => ids.readSome()))) return 'unknown';
    }
  }

  async cancelled(reservations: readonly Reservation[]): Promise<readonly (boolean | string)[]> {
    const { store, checkOpen } = this.#options;
    checkOpen('control.cancelled');
    return store.read('no cancelled job was told', ({ ids }) =>
      reservations.map(({ token }) => ids.cancelled((token as ReservationToken).id)),
    );
  }

  pause(queue: string, seconds?: Seconds): Promise<boolean> {
    return this.#order('control.pause', `queue '${queue}' was not paused`, ({ orders }) =>
      orders.pause(queue, this.#options.now(), seconds),
    );
  }

  async resume(queue: string): Promise<boolean> {
    const resumed = await this.#order('control.resume', `queue '${queue}' was not resumed`, ({ orders }) =>
      orders.resume(queue, this.#options.now()),
    );
    this.#options.wroteTo(queue);
    return resumed;
  }

  async paused(): Promise<readonly Pause[]> {
    const { store, checkOpen, now } = this.#options;
    checkOpen('control.paused');
    return store.read('no paused queues were listed', ({ orders }) => orders.paused(now()));
  }

  restart(): Promise<void> {
    return this.#order('control.restart', 'no worker was told to start anew', ({ orders }) => orders.restart(uuidv7()));
  }

  async #order<T>(operation: string, consequence: string, work: (tables: SqliteTables) => T): Promise<T> {
    const { store, checkOpen } = this.#options;
    checkOpen(operation);
    return store.write({ consequence, durable: true }, work);
  }
}

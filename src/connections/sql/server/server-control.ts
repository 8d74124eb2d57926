/** Orders to the workers of a database server. */
import type { Seconds } from '../../../base/clock';
import { readId } from '../../../payload/counters';
import { uuidv7 } from '../../../payload/uuid';
import type { Reservation } from '../../contract';
import type { CancelResult, Control } from '../../control';
import type { Pause } from '../../pause';
import type { Access } from './access';
import type { Dialect, ReservationToken } from './dialect';

/** Jobs of other programs whose ids one call reads. */
const PAGE = 100;

export class ServerControl implements Control {
  readonly #access: Access;
  readonly #dialect: Pick<Dialect, 'jobs' | 'orders'>;

  constructor(access: Access, dialect: Pick<Dialect, 'jobs' | 'orders'>) {
    this.#access = access;
    this.#dialect = dialect;
  }

  async cancel(id: string, queue?: string, reason?: string): Promise<CancelResult> {
    const { jobs } = this.#dialect;
    const consequence = `job ${id} was not cancelled`;
    for (;;) {
      const result = await this.#access('control.cancel', { consequence, writes: 'once' }, (session) =>
        jobs.cancel(session, id, queue, reason),
      );
      if (result !== 'unknown') return result;
      // It may be among those whose ids nobody has read yet; each is read once.
      const unread = await this.#access('control.cancel', { consequence }, (session) => jobs.unread(session, PAGE));
      if (unread.length === 0) return 'unknown';
      const known = unread.map((job) => ({ id: job.id, uuid: readId(job.payload) ?? '' }));
      await this.#access('control.cancel', { consequence, writes: 'repeatable' }, (session) =>
        jobs.know(session, known),
      );
    }
  }

  async cancelled(reservations: readonly Reservation[]): Promise<readonly (boolean | string)[]> {
    const ids = reservations.map(({ token }) => (token as ReservationToken).id);
    const purpose = { consequence: 'no cancelled job was told' };
    const cancelled = await this.#access('control.cancelled', purpose, (session) =>
      this.#dialect.jobs.cancelled(session, ids),
    );
    return ids.map((id) => cancelled.get(id) ?? false);
  }

  async pause(queue: string, seconds?: Seconds): Promise<boolean> {
    const purpose = { consequence: `queue '${queue}' was not paused`, writes: 'once' } as const;
    return this.#access('control.pause', purpose, (session) => this.#dialect.orders.pause(session, queue, seconds));
  }

  async resume(queue: string): Promise<boolean> {
    const purpose = { consequence: `queue '${queue}' was not resumed`, writes: 'once' } as const;
    return this.#access('control.resume', purpose, (session) => this.#dialect.orders.resume(session, queue));
  }

  async paused(): Promise<readonly Pause[]> {
    const purpose = { consequence: 'no paused queues were listed' };
    const paused = await this.#access('control.paused', purpose, (session) => this.#dialect.orders.paused(session));
    return paused.toSorted((a, b) => (a.queue < b.queue ? -1 : 1));
  }

  async restart(): Promise<void> {
    const purpose = { consequence: 'no worker was told to start anew', writes: 'repeatable' } as const;
    const token = uuidv7();
    await this.#access('control.restart', purpose, (session) => this.#dialect.orders.restart(session, token));
  }
}

/** Orders to workers in PostgreSQL. `exchange` reads them. */
import type { Seconds } from '../../../base/clock';
import { type Pause, pauseOf } from '../../pause';
import type { OrderStatements } from '../server/dialect';
import type { SqlSession } from '../server/sql-session';
import type { Identifiers } from './identifiers';
import { now, PAUSED_UNTIL } from './states';

export class PostgresOrders implements OrderStatements {
  readonly #names: Identifiers;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly #offset: () => Seconds;

  constructor(names: Identifiers, offset: () => Seconds) {
    this.#names = names;
    this.#offset = offset;
  }

  async pause(session: SqlSession, queue: string, seconds: Seconds | undefined): Promise<boolean> {
    const { orders } = this.#names;
    const { rows } = await session.query(
      `WITH before AS (SELECT FROM ${orders} WHERE kind = 'pause' AND value = $1 AND ${PAUSED_UNTIL} > ${now('$3')})
       INSERT INTO ${orders} (kind, value, ends_at) VALUES ('pause', $1, ${now('$3')} + $2::double precision)
       ON CONFLICT (kind, value) DO UPDATE SET ends_at = excluded.ends_at RETURNING (SELECT count(*) FROM before)`,
      [queue, seconds ?? null, this.#offset()],
    );
    return Number(rows[0]?.[0]) === 0;
  }

  async resume(session: SqlSession, queue: string): Promise<boolean> {
    const { orders, channel } = this.#names;
    const { rows } = await session.query(
      `WITH gone AS (DELETE FROM ${orders} WHERE kind = 'pause' AND value = $1 RETURNING value, ends_at)
       SELECT pg_notify($2, value) FROM gone WHERE ${PAUSED_UNTIL} > ${now('$3')}`,
      [queue, channel, this.#offset()],
    );
    return rows.length > 0;
  }

  async paused(session: SqlSession): Promise<readonly Pause[]> {
    const { rows } = await session.query(
      `SELECT value, ends_at FROM ${this.#names.orders} WHERE kind = 'pause' AND ${PAUSED_UNTIL} > ${now('$1')}`,
      [this.#offset()],
    );
    return rows.map(([queue, until = null]) =>
      pauseOf(String(queue), until === null ? Infinity : Number(until) * 1000),
    );
  }

  async restart(session: SqlSession, token: string): Promise<void> {
    const { orders } = this.#names;
    // Of several tokens the largest counts, and that is the latest: two that are given at once must not stay in each other's way.
    await session.query(
      `WITH earlier AS (DELETE FROM ${orders} WHERE kind = 'restart' AND value < $1)
       INSERT INTO ${orders} (kind, value) VALUES ('restart', $1) ON CONFLICT DO NOTHING`,
      [token],
    );
  }
}

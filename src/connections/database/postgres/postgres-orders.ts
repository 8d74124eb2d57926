/** Orders to workers in PostgreSQL. `exchange` reads them. */
import type { OrderStatements } from '../server/dialect';
import type { SqlSession } from '../server/sql-session';
import type { Identifiers } from './identifiers';

export class PostgresOrders implements OrderStatements {
  readonly #names: Identifiers;

  constructor(names: Identifiers) {
    this.#names = names;
  }

  async pause(session: SqlSession, queue: string): Promise<boolean> {
    const text = `INSERT INTO ${this.#names.orders} (kind, value) VALUES ('pause', $1) ON CONFLICT DO NOTHING`;
    return (await session.query(text, [queue])).written > 0;
  }

  async resume(session: SqlSession, queue: string): Promise<boolean> {
    const text = `WITH resumed AS (DELETE FROM ${this.#names.orders} WHERE kind = 'pause' AND value = $1 RETURNING value)
      SELECT pg_notify($2, value) FROM resumed`;
    return (await session.query(text, [queue, this.#names.channel])).rows.length > 0;
  }

  async paused(session: SqlSession): Promise<readonly string[]> {
    const { rows } = await session.query(`SELECT value FROM ${this.#names.orders} WHERE kind = 'pause'`);
    return rows.map(([queue]) => String(queue));
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

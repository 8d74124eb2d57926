/** Orders to the workers in MySQL. */
import type { OrderStatements } from '../server/dialect';
import type { SqlSession } from '../server/sql-session';
import type { MysqlNames } from './mysql-names';
import type { MysqlSession } from './mysql-session';
import type { PollWaiters } from './poll-waiters';
import { sql } from './sql';

export class MysqlOrders implements OrderStatements {
  readonly #names: MysqlNames;
  readonly #waiters: PollWaiters;

  constructor(names: MysqlNames, waiters: PollWaiters) {
    this.#names = names;
    this.#waiters = waiters;
  }

  async pause(session: SqlSession, queue: string): Promise<boolean> {
    const { written } = await session.query(
      sql`INSERT IGNORE INTO ${this.#names.orders} (kind, value) VALUES ('pause', ${queue})`.text,
    );
    return written > 0;
  }

  async resume(session: SqlSession, queue: string): Promise<boolean> {
    const { written } = await session.query(
      sql`DELETE FROM ${this.#names.orders} WHERE kind = 'pause' AND value = ${queue}`.text,
    );
    this.#waiters.hint(queue);
    return written > 0;
  }

  async paused(session: SqlSession): Promise<readonly string[]> {
    const { rows } = await session.query(sql`SELECT value FROM ${this.#names.orders} WHERE kind = 'pause'`.text);
    return rows.map(([queue]) => String(queue));
  }

  async restart(session: SqlSession, token: string): Promise<void> {
    await (session as MysqlSession).atOnce([
      sql`DELETE FROM ${this.#names.orders} WHERE kind = 'restart'`,
      sql`INSERT INTO ${this.#names.orders} (kind, value) VALUES ('restart', ${token})`,
    ]);
  }
}

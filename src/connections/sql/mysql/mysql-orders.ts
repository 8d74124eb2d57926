/** Orders to the workers in MySQL. */
import type { Seconds } from '../../../base/clock';
import { type Pause, pauseOf } from '../../pause';
import type { OrderStatements } from '../server/dialect';
import type { SqlSession } from '../server/sql-session';
import { now, PAUSED_UNTIL } from './job-rows';
import type { MysqlNames } from './mysql-names';
import type { MysqlSession } from './mysql-session';
import type { PollWaiters } from './poll-waiters';
import { Sql, sql } from './sql';

export class MysqlOrders implements OrderStatements {
  readonly #names: MysqlNames;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly #offset: () => Seconds;
  readonly #waiters: PollWaiters;

  constructor(names: MysqlNames, offset: () => Seconds, waiters: PollWaiters) {
    this.#names = names;
    this.#offset = offset;
    this.#waiters = waiters;
  }

  async pause(session: SqlSession, queue: string, seconds: Seconds | undefined): Promise<boolean> {
    const ends = seconds === undefined ? new Sql('NULL') : sql`@onqueue_now + ${seconds}`;
    return !(await this.#changePaused(
      session,
      queue,
      sql`REPLACE INTO ${this.#names.orders} (kind, value, ends_at) VALUES ('pause', ${queue}, ${ends})`,
    ));
  }

  async resume(session: SqlSession, queue: string): Promise<boolean> {
    const wasPaused = await this.#changePaused(
      session,
      queue,
      sql`DELETE FROM ${this.#names.orders} WHERE kind = 'pause' AND value = ${queue}`,
    );
    this.#waiters.hint(queue);
    return wasPaused;
  }

  async paused(session: SqlSession): Promise<readonly Pause[]> {
    const { rows } = await session.query(
      sql`SELECT value, ends_at FROM ${this.#names.orders} WHERE kind = 'pause' AND ${PAUSED_UNTIL} > ${now(this.#offset())}`
        .text,
    );
    return rows.map(([queue, until = null]) =>
      pauseOf(String(queue), until === null ? Infinity : Number(until) * 1000),
    );
  }

  /** Whether it was paused before. */
  async #changePaused(session: SqlSession, queue: string, change: Sql): Promise<boolean> {
    const { orders } = this.#names;
    const results = await (session as MysqlSession).atOnce([
      sql`SET @onqueue_now = ${now(this.#offset())}`,
      sql`SELECT EXISTS (
        SELECT 1 FROM ${orders} WHERE kind = 'pause' AND value = ${queue} AND ${PAUSED_UNTIL} > @onqueue_now
      ) INTO @onqueue_paused`,
      change,
      sql`SELECT @onqueue_paused`,
    ]);
    return Number(results.at(-1)!.rows[0]?.[0]) !== 0;
  }

  async restart(session: SqlSession, token: string): Promise<void> {
    await (session as MysqlSession).atOnce([
      sql`DELETE FROM ${this.#names.orders} WHERE kind = 'restart'`,
      sql`INSERT INTO ${this.#names.orders} (kind, value) VALUES ('restart', ${token})`,
    ]);
  }
}

/** Locks in MySQL. */
import type { Seconds } from '../../../base/clock';
import type { LockStatements } from '../server/dialect';
import type { SqlSession } from '../server/sql-session';
import { now } from './job-rows';
import { keyOf, type MysqlNames } from './mysql-names';
import type { MysqlSession } from './mysql-session';
import { type Sql, sql } from './sql';

/** Ended locks that each acquire removes: more than it adds, so that they never pile up. */
const SWEPT = 10;

export class MysqlLocks implements LockStatements {
  readonly #names: MysqlNames;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly #offset: () => Seconds;

  constructor(names: MysqlNames, offset: () => Seconds) {
    this.#names = names;
    this.#offset = offset;
  }

  async acquire(session: SqlSession, name: string, token: string, ttl: Seconds): Promise<boolean> {
    const { locks } = this.#names;
    const ended = sql`SELECT name FROM ${locks} WHERE expires_at <= @onqueue_now LIMIT ${SWEPT} FOR UPDATE SKIP LOCKED`;
    const results = await (session as MysqlSession).atOnce([
      sql`SET @onqueue_now = ${this.#now}`,
      sql`DELETE held FROM (${ended}) AS ended STRAIGHT_JOIN ${locks} AS held ON held.name = ended.name`,
      // From left to right: the second sees what became of the first.
      sql`INSERT INTO ${locks} (name, token, expires_at) VALUES (${[keyOf(name), keyOf(token)]}, @onqueue_now + ${ttl})
        ON DUPLICATE KEY UPDATE token = IF(token = VALUES(token) OR expires_at <= @onqueue_now, VALUES(token), token),
          expires_at = IF(token = VALUES(token), VALUES(expires_at), expires_at)`,
      sql`SELECT 1 FROM ${locks} WHERE name = ${keyOf(name)} AND token = ${keyOf(token)}`,
    ]);
    return results.at(-1)!.rows.length > 0;
  }

  async renew(session: SqlSession, name: string, token: string, ttl: Seconds): Promise<boolean> {
    const { written } = await session.query(
      sql`UPDATE ${this.#names.locks} SET expires_at = ${this.#now} + ${ttl} WHERE ${this.#held(name, token)}`.text,
    );
    return written > 0;
  }

  async release(session: SqlSession, name: string, token: string): Promise<boolean> {
    const { written } = await session.query(
      sql`DELETE FROM ${this.#names.locks} WHERE ${this.#held(name, token)}`.text,
    );
    return written > 0;
  }

  #held(name: string, token: string): Sql {
    return sql`name = ${keyOf(name)} AND token = ${keyOf(token)} AND expires_at > ${this.#now}`;
  }

  get #now(): Sql {
    return now(this.#offset());
  }
}

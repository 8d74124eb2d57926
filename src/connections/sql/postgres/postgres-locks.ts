/** Locks in PostgreSQL. */
import type { Seconds } from '../../../base/clock';
import type { LockStatements } from '../server/dialect';
import type { SqlSession } from '../server/sql-session';
import type { Identifiers } from './identifiers';
import { now } from './states';

/** Ended locks that each acquire removes: more than it adds, so that they never pile up. */
const SWEPT = 10;

export class PostgresLocks implements LockStatements {
  readonly #names: Identifiers;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly #offset: () => Seconds;

  constructor(names: Identifiers, offset: () => Seconds) {
    this.#names = names;
    this.#offset = offset;
  }

  async acquire(session: SqlSession, name: string, token: string, ttl: Seconds): Promise<boolean> {
    const { locks } = this.#names;
    const { written } = await session.query(
      `WITH swept AS (
         DELETE FROM ${locks} WHERE name IN (
           SELECT name FROM ${locks} WHERE expires_at <= ${now('$4')} AND name <> $1 LIMIT ${SWEPT} FOR UPDATE SKIP LOCKED
         )
       )
       INSERT INTO ${locks} AS held (name, token, expires_at) VALUES ($1, $2, ${now('$4')} + $3::double precision)
       ON CONFLICT (name) DO UPDATE SET token = excluded.token, expires_at = excluded.expires_at
       WHERE held.token = excluded.token OR held.expires_at <= ${now('$4')}`,
      [name, token, ttl, this.#offset()],
    );
    return written > 0;
  }

  async renew(session: SqlSession, name: string, token: string, ttl: Seconds): Promise<boolean> {
    const { written } = await session.query(
      `UPDATE ${this.#names.locks} SET expires_at = ${now('$4')} + $3::double precision
       WHERE name = $1 AND token = $2 AND expires_at > ${now('$4')}`,
      [name, token, ttl, this.#offset()],
    );
    return written > 0;
  }

  async release(session: SqlSession, name: string, token: string): Promise<boolean> {
    const { written } = await session.query(
      `DELETE FROM ${this.#names.locks} WHERE name = $1 AND token = $2 AND expires_at > ${now('$3')}`,
      [name, token, this.#offset()],
    );
    return written > 0;
  }
}

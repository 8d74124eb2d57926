/** The locks of one file: each method is part of a transaction. */
import type { Seconds } from '../../../base/clock';
import type { SqliteDatabase, SqliteStatement } from './sqlite-database';
import type { TableNames } from '../table-names';

/** Ended locks that each acquire removes: more than it adds, so that they never pile up. */
const SWEPT = 10;

export class LockTable {
  readonly #sweep: SqliteStatement;
  readonly #acquire: SqliteStatement;
  readonly #renew: SqliteStatement;
  readonly #release: SqliteStatement;

  constructor(database: SqliteDatabase, { locks }: TableNames) {
    this.#sweep = database.prepare(
      `DELETE FROM ${locks} WHERE name IN (SELECT name FROM ${locks} WHERE expires_at <= ? LIMIT ${SWEPT})`,
    );
    this.#acquire = database.prepare(
      `INSERT INTO ${locks} (name, token, expires_at) VALUES (?1, ?2, ?3)
       ON CONFLICT (name) DO UPDATE SET token = ?2, expires_at = ?3 WHERE token = ?2 OR expires_at <= ?4`,
    );
    this.#renew = database.prepare(
      `UPDATE ${locks} SET expires_at = ?3 WHERE name = ?1 AND token = ?2 AND expires_at > ?4`,
    );
    this.#release = database.prepare(`DELETE FROM ${locks} WHERE name = ?1 AND token = ?2 AND expires_at > ?3`);
  }

  acquire(name: string, token: string, end: Seconds, now: Seconds): boolean {
    this.#sweep.run([now]);
    return this.#acquire.run([name, token, end, now]) > 0;
  }

  renew(name: string, token: string, end: Seconds, now: Seconds): boolean {
    return this.#renew.run([name, token, end, now]) > 0;
  }

  release(name: string, token: string, now: Seconds): boolean {
    return this.#release.run([name, token, now]) > 0;
  }
}

/** The orders to the workers of one file: each method is part of a transaction. `JobTable.outlook` reads them for workers. */
import type { SqliteDatabase, SqliteStatement } from './sqlite-database';
import type { Seconds } from '../../../base/clock';
import { type Pause, pauseOf } from '../../pause';
import type { TableNames } from '../table-names';
import { toMicroseconds } from './moment';

/** When a pause ends, seconds since 1970; later than all moments: when it is resumed. */
export const PAUSED_UNTIL = 'ifnull(ends_at, 9e999)';

export class OrderTable {
  readonly #paused: SqliteStatement;
  readonly #isPaused: SqliteStatement;
  readonly #pause: SqliteStatement;
  readonly #add: SqliteStatement;
  readonly #remove: SqliteStatement;
  readonly #removeAll: SqliteStatement;

  constructor(database: SqliteDatabase, { orders }: TableNames) {
    this.#paused = database.prepare(
      `SELECT CAST(value AS BLOB), ${PAUSED_UNTIL} FROM ${orders} WHERE kind = 'pause' AND ${PAUSED_UNTIL} > ? ORDER BY value`,
    );
    this.#isPaused = database.prepare(
      `SELECT 1 FROM ${orders} WHERE kind = 'pause' AND value = ? AND ${PAUSED_UNTIL} > ?`,
    );
    this.#pause = database.prepare(`INSERT OR REPLACE INTO ${orders} (kind, value, ends_at) VALUES ('pause', ?, ?)`);
    this.#add = database.prepare(`INSERT OR IGNORE INTO ${orders} (kind, value) VALUES (?, ?)`);
    this.#remove = database.prepare(`DELETE FROM ${orders} WHERE kind = ? AND value = ?`);
    this.#removeAll = database.prepare(`DELETE FROM ${orders} WHERE kind = ?`);
  }

  paused(now: Seconds): readonly Pause[] {
    return this.#paused.all([now]).map(([queue, until]) => pauseOf(String(queue), Number(until) * 1000));
  }

  /** False: it was paused already. */
  pause(queue: string, now: Seconds, seconds: Seconds = Infinity): boolean {
    const wasPaused = this.#isPaused.get([queue, now]) !== undefined;
    this.#pause.run([queue, seconds === Infinity ? null : toMicroseconds(now + seconds)]);
    return !wasPaused;
  }

  /** False: it was not paused. */
  resume(queue: string, now: Seconds): boolean {
    const wasPaused = this.#isPaused.get([queue, now]) !== undefined;
    this.#remove.run(['pause', queue]);
    return wasPaused;
  }

  restart(token: string): void {
    this.#removeAll.run(['restart']);
    this.#add.run(['restart', token]);
  }
}

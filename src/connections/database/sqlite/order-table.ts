/** The orders to the workers of one file: each method is part of a transaction. `JobTable.outlook` reads them for workers. */
import type { SqliteDatabase, SqliteStatement } from './sqlite-database';
import type { TableNames } from '../table-names';

export class OrderTable {
  readonly #paused: SqliteStatement;
  readonly #add: SqliteStatement;
  readonly #remove: SqliteStatement;
  readonly #removeAll: SqliteStatement;

  constructor(database: SqliteDatabase, { orders }: TableNames) {
    this.#paused = database.prepare(`SELECT CAST(value AS BLOB) FROM ${orders} WHERE kind = 'pause'`);
    this.#add = database.prepare(`INSERT OR IGNORE INTO ${orders} (kind, value) VALUES (?, ?)`);
    this.#remove = database.prepare(`DELETE FROM ${orders} WHERE kind = ? AND value = ?`);
    this.#removeAll = database.prepare(`DELETE FROM ${orders} WHERE kind = ?`);
  }

  paused(): readonly string[] {
    return this.#paused.all([]).map(([queue]) => String(queue));
  }

  /** False: it was paused already. */
  pause(queue: string): boolean {
    return this.#add.run(['pause', queue]) > 0;
  }

  /** False: it was not paused. */
  resume(queue: string): boolean {
    return this.#remove.run(['pause', queue]) > 0;
  }

  restart(token: string): void {
    this.#removeAll.run(['restart']);
    this.#add.run(['restart', token]);
  }
}

/** The tables of one connection, with their statements prepared. */
import { FailedTable } from './failed-table';
import { JobTable } from './job-table';
import { JobIds } from './job-ids';
import { LockTable } from './lock-table';
import { OrderTable } from './order-table';
import type { SqliteDatabase, SqliteStatement } from './sqlite-database';
import type { TableNames } from '../table-names';

export class SqliteTables {
  readonly jobs: JobTable;
  readonly ids: JobIds;
  readonly failed: FailedTable;
  readonly locks: LockTable;
  readonly orders: OrderTable;
  /** The version of the tables that was there when they were opened. */
  readonly foundVersion: number;
  readonly #version: SqliteStatement;
  readonly #facts: SqliteStatement;

  constructor(database: SqliteDatabase, names: TableNames, foundVersion: number) {
    this.foundVersion = foundVersion;
    this.jobs = new JobTable(database, names);
    this.ids = new JobIds(database, names);
    this.failed = new FailedTable(database, names);
    this.locks = new LockTable(database, names);
    this.orders = new OrderTable(database, names);
    this.#version = database.prepare('PRAGMA data_version');
    this.#facts = database.prepare(
      'SELECT sqlite_version(), journal_mode, sqlite_source_id() FROM pragma_journal_mode',
    );
  }

  /** Differs from what it was when anyone else has written to the file meanwhile. */
  get version(): number {
    return Number(this.#version.get([])?.[0]);
  }

  /** `engine`: differs between builds of SQLite. */
  facts(): { readonly version: string; readonly journal: string; readonly engine: string } {
    const [version, journal, engine] = this.#facts.get([]) ?? [];
    return { version: String(version), journal: String(journal), engine: String(engine) };
  }
}

/** Finds jobs by the `id` in their payloads, and cancels them: each method is part of a transaction. */
import type { CancelResult } from '../../control';
import { readId } from '../../../payload/counters';
import type { SqliteDatabase, SqliteStatement } from './sqlite-database';
import { cancellationsOf } from '../stored-row';
import type { TableNames } from '../table-names';
import { KNOWN_ID, RESERVED, UNREAD_ID } from './tables';

/** What one transaction reads at most. */
const PAGE_JOBS = 250;
const PAGE_BYTES = 1024 * 1024;

export class JobIds {
  readonly #find: SqliteStatement;
  readonly #signal: SqliteStatement;
  readonly #signalled: SqliteStatement;
  readonly #remove: SqliteStatement;
  readonly #unread: SqliteStatement;
  readonly #know: SqliteStatement;

  constructor(database: SqliteDatabase, { jobs }: TableNames) {
    this.#find = database.prepare(
      `SELECT id, ${RESERVED} FROM ${jobs} WHERE uuid = ?1 AND ${KNOWN_ID} AND (?2 IS NULL OR queue = ?2)
       ORDER BY ${RESERVED} DESC, id LIMIT 1`,
    );
    this.#signal = database.prepare(`UPDATE ${jobs} SET cancelled = 1, cancel_reason = ?2 WHERE id = ?1`);
    this.#signalled = database.prepare(
      `SELECT id, CAST(cancel_reason AS BLOB) FROM ${jobs} WHERE id = ? AND cancelled`,
    );
    this.#remove = database.prepare(`DELETE FROM ${jobs} WHERE id = ?`);
    this.#unread = database.prepare(`SELECT id, CAST(payload AS BLOB) FROM ${jobs} WHERE ${UNREAD_ID} LIMIT 1`);
    this.#know = database.prepare(`UPDATE ${jobs} SET uuid = ? WHERE id = ?`);
  }

  cancel(id: string, queue: string | undefined, reason: string | undefined): CancelResult {
    const [job, isReserved] = this.#find.get([id, queue ?? null]) ?? [];
    if (job === undefined) return 'unknown';
    if (isReserved === 0) {
      this.#remove.run([job]);
      return 'removed';
    }
    this.#signal.run([job, reason ?? null]);
    return 'signalled';
  }

  /** Whether, or why. */
  cancelled(id: number): boolean | string {
    return cancellationsOf(this.#signalled.all([id])).get(id) ?? false;
  }

  /** Reads the ids of some jobs that an older version or another program inserted. False: there are none left. */
  readSome(): boolean {
    let jobs = 0;
    for (let bytes = 0; jobs < PAGE_JOBS && bytes < PAGE_BYTES; jobs += 1) {
      const [job, payload] = this.#unread.get([]) ?? [];
      if (job === undefined) break;
      this.#know.run([readId(payload as Buffer) ?? '', job]);
      bytes += (payload as Buffer).length;
    }
    return jobs > 0;
  }
}

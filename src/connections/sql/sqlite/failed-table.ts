/** The failed jobs of one file: each method is part of a transaction. */
import type { Seconds } from '../../../base/clock';
import { type FailedEntry, type Forgotten, keptUnder } from '../../failed-store';
import { uuidv7 } from '../../../payload/uuid';
import { rowLimit, storable } from './job-table';
import type { SqliteDatabase, SqliteRow, SqliteStatement } from './sqlite-database';
import type { TableNames } from '../table-names';

const text = (column: string): string => `CAST(${column} AS BLOB)`;
const ENTRY = `${['uuid', 'connection', 'queue', 'payload', 'exception', 'name'].map(text).join(', ')}, failed_at, attempts`;

export class FailedTable {
  readonly #put: SqliteStatement;
  readonly #list: SqliteStatement;
  readonly #listQueue: SqliteStatement;
  readonly #get: SqliteStatement;
  readonly #count: SqliteStatement;
  readonly #countQueue: SqliteStatement;
  readonly #take: SqliteStatement;
  readonly #forget: SqliteStatement;
  readonly #flush: SqliteStatement;
  readonly #flushQueue: SqliteStatement;
  readonly #newest: SqliteStatement;
  readonly #beyond: SqliteStatement;
  readonly #beyondQueue: SqliteStatement;
  readonly #pruneOlder: SqliteStatement;
  readonly #pruneOlderQueue: SqliteStatement;

  constructor(database: SqliteDatabase, { failed }: TableNames) {
    const prepare = (sql: string): SqliteStatement => database.prepare(sql);
    const pageOf = (condition: string): SqliteStatement =>
      prepare(`DELETE FROM ${failed} WHERE id IN (SELECT id FROM ${failed} WHERE ${condition})`);
    // A replaced entry gets a new id: it counts as the newest.
    this.#put = prepare(
      `INSERT OR REPLACE INTO ${failed} (uuid, connection, queue, payload, exception, failed_at, name, attempts)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#list = prepare(`SELECT ${ENTRY} FROM ${failed} ORDER BY id DESC LIMIT ? OFFSET ?`);
    this.#listQueue = prepare(`SELECT ${ENTRY} FROM ${failed} WHERE queue = ? ORDER BY id DESC LIMIT ? OFFSET ?`);
    this.#get = prepare(`SELECT ${ENTRY} FROM ${failed} WHERE uuid = ?`);
    this.#count = prepare(`SELECT count(*) FROM ${failed}`);
    this.#countQueue = prepare(`SELECT count(*) FROM ${failed} WHERE queue = ?`);
    this.#take = prepare(`DELETE FROM ${failed} WHERE uuid = ? AND failed_at = ? AND ${text('payload')} = ?`);
    this.#forget = prepare(`DELETE FROM ${failed} WHERE uuid = ? AND queue = ?`);
    this.#flush = pageOf('id <= ? LIMIT ?');
    this.#flushQueue = pageOf('queue = ? AND id <= ? LIMIT ?');
    this.#newest = prepare(`SELECT max(id) FROM ${failed}`);
    this.#beyond = prepare(`SELECT id FROM ${failed} ORDER BY id DESC LIMIT 1 OFFSET ?`);
    this.#beyondQueue = prepare(`SELECT id FROM ${failed} WHERE queue = ? ORDER BY id DESC LIMIT 1 OFFSET ?`);
    this.#pruneOlder = pageOf('failed_at < ? LIMIT ?');
    this.#pruneOlderQueue = pageOf('queue = ? AND failed_at < ? LIMIT ?');
  }

  /** Keeps a job of this file, beside another of its id that failed before. */
  add(entry: Omit<FailedEntry, 'failedAt'>, now: Seconds): void {
    this.#write(this.get(entry.id) === undefined ? entry : { ...entry, id: uuidv7() }, now);
  }

  /** Keeps a job of another connection, in place of what is kept of the same job. */
  put(entry: Omit<FailedEntry, 'failedAt'>, now: Seconds): string {
    const id = keptUnder(this.get(entry.id), entry, uuidv7);
    if (id !== undefined) this.#write({ ...entry, id }, now);
    return id ?? entry.id;
  }

  #write(entry: Omit<FailedEntry, 'failedAt'>, now: Seconds): void {
    const { id, connection, queue, payload, exception, name, attempts } = entry;
    const failedAt = Math.round(now * 1000) / 1000;
    this.#put.run([id, connection, queue, storable(payload), exception, failedAt, name, attempts]);
  }

  /** Newest first. */
  list(queue: string | undefined, limit: number, offset: number): readonly FailedEntry[] {
    const page = [rowLimit(limit), rowLimit(offset)];
    const rows = queue === undefined ? this.#list.all(page) : this.#listQueue.all([queue, ...page]);
    return rows.map(entryOf);
  }

  get(id: string): FailedEntry | undefined {
    const row = this.#get.get([id]);
    return row === undefined ? undefined : entryOf(row);
  }

  count(queue: string | undefined): number {
    const row = queue === undefined ? this.#count.get([]) : this.#countQueue.get([queue]);
    return Number(row?.[0]);
  }

  /** Removes the entry if it is still as it was read. */
  take({ id, failedAt, payload }: FailedEntry): boolean {
    return this.#take.run([id, failedAt / 1000, payload]) > 0;
  }

  forget({ id, queue, payload }: Forgotten): boolean {
    if (payload !== undefined && this.get(id)?.payload.equals(payload) !== true) return false;
    return this.#forget.run([id, queue]) > 0;
  }

  /** The row that no entry older than now exceeds. */
  newest(): number {
    return Number(this.#newest.get([])?.[0] ?? 0);
  }

  /** The newest row but `keep`. */
  beyond(queue: string | undefined, keep: number): number {
    const skipped = rowLimit(keep);
    const row = queue === undefined ? this.#beyond.get([skipped]) : this.#beyondQueue.get([queue, skipped]);
    return Number(row?.[0] ?? 0);
  }

  /** Removes up to `limit` entries that are no newer than row `newest`; returns how many. */
  flush(queue: string | undefined, newest: number, limit: number): number {
    return queue === undefined ? this.#flush.run([newest, limit]) : this.#flushQueue.run([queue, newest, limit]);
  }

  /** Removes up to `limit` entries that failed before `moment`; returns how many. */
  pruneOlder(queue: string | undefined, moment: Seconds, limit: number): number {
    return queue === undefined
      ? this.#pruneOlder.run([moment, limit])
      : this.#pruneOlderQueue.run([queue, moment, limit]);
  }
}

function entryOf(row: SqliteRow): FailedEntry {
  const [id, connection, queue, payload, exception, name, failedAt, attempts] = row;
  return {
    id: String(id),
    connection: String(connection),
    queue: String(queue),
    payload: payload as Buffer,
    exception: String(exception),
    name: String(name),
    failedAt: Math.round(Number(failedAt) * 1000),
    attempts: Number(attempts),
  };
}

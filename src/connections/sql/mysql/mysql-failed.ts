/** Failed jobs in MySQL. */
import type { Seconds } from '../../../base/clock';
import type { FailedEntry, Forgotten } from '../../failed-store';
import type { FailedStatements, NewFailure, QueuedJob } from '../server/dialect';
import type { SqlRow, SqlSession } from '../server/sql-session';
import { now } from './job-rows';
import { keyOf, type MysqlNames } from './mysql-names';
import type { MysqlSession } from './mysql-session';
import type { PollWaiters } from './poll-waiters';
import { insertJobs, rememberQueue } from './pushing';
import { putFailed } from './settling';
import { Sql, sql } from './sql';

/** Milliseconds since 1970; Laravel has written whole seconds. */
const FAILED_AT = new Sql('COALESCE(failed_ms, UNIX_TIMESTAMP(failed_at) * 1000)');
const ENTRY = sql`uuid, connection, queue, payload, exception, COALESCE(name, ''), ${FAILED_AT}, attempts`;

export class MysqlFailed implements FailedStatements {
  readonly #names: MysqlNames;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly #offset: () => Seconds;
  readonly #waiters: PollWaiters;

  constructor(names: MysqlNames, offset: () => Seconds, waiters: PollWaiters) {
    this.#names = names;
    this.#offset = offset;
    this.#waiters = waiters;
  }

  async put(session: SqlSession, entry: NewFailure): Promise<void> {
    await (session as MysqlSession).atOnce([
      sql`SET @onqueue_now = ${this.#now}`,
      putFailed(this.#names, entry, new Sql('FROM DUAL')),
    ]);
  }

  async list(
    session: SqlSession,
    queue: string | undefined,
    limit: number,
    offset: number,
  ): Promise<readonly FailedEntry[]> {
    const page = sql`LIMIT ${rowLimit(limit)} OFFSET ${rowLimit(offset)}`;
    const rows = await this.#rows(session, sql`${of(queue)} ORDER BY id DESC ${page}`);
    return rows.map(entryOf);
  }

  async get(session: SqlSession, id: string): Promise<FailedEntry | undefined> {
    const [row] = await this.#rows(session, sql`WHERE uuid = ${keyOf(id)}`);
    return row === undefined ? undefined : entryOf(row);
  }

  async count(session: SqlSession, queue: string | undefined): Promise<number> {
    const { rows } = await session.query(sql`SELECT COUNT(*) FROM ${this.#names.failed} ${of(queue)}`.text);
    return Number(rows[0]?.[0]);
  }

  async retry(session: SqlSession, { id, failedAt, payload }: FailedEntry, job: QueuedJob): Promise<boolean> {
    const own = session as MysqlSession;
    const isRetried = await own.transaction(async () => {
      const { written } = await own.query(
        sql`DELETE FROM ${this.#names.failed}
          WHERE uuid = ${keyOf(id)} AND ${FAILED_AT} = ${failedAt} AND payload = ${payload}`.text,
      );
      if (written === 0) return false;
      const writes = [rememberQueue(this.#names, job.queue), ...insertJobs(this.#names, [job], this.#now)];
      for (const { text } of writes) await own.query(text);
      return true;
    });
    if (isRetried) this.#waiters.hint(job.queue);
    return isRetried;
  }

  async forget(session: SqlSession, { id, queue, payload }: Forgotten): Promise<boolean> {
    const isThis = payload === undefined ? new Sql('') : sql`AND payload = ${payload}`;
    const { written } = await session.query(
      sql`DELETE FROM ${this.#names.failed} WHERE uuid = ${keyOf(id)} AND queue = ${queue} ${isThis}`.text,
    );
    return written > 0;
  }

  async newest(session: SqlSession, queue: string | undefined, keep: number): Promise<number> {
    const { rows } = await session.query(
      sql`SELECT id FROM ${this.#names.failed} ${of(queue)} ORDER BY id DESC LIMIT 1 OFFSET ${rowLimit(keep)}`.text,
    );
    return Number(rows[0]?.[0] ?? 0);
  }

  async flush(session: SqlSession, queue: string | undefined, newest: number, limit: number): Promise<number> {
    return this.#remove(
      session,
      queue === undefined ? sql`id <= ${newest}` : sql`queue = ${queue} AND id <= ${newest}`,
      limit,
    );
  }

  async pruneOlder(session: SqlSession, queue: string | undefined, age: Seconds, limit: number): Promise<number> {
    const old = sql`${FAILED_AT} < (${this.#now} - ${age}) * 1000`;
    return this.#remove(session, queue === undefined ? old : sql`${old} AND queue = ${queue}`, limit);
  }

  get #now(): Sql {
    return now(this.#offset());
  }

  async #rows(session: SqlSession, rest: Sql): Promise<readonly SqlRow[]> {
    return (await session.query(sql`SELECT ${ENTRY} FROM ${this.#names.failed} ${rest}`.text)).rows;
  }

  async #remove(session: SqlSession, condition: Sql, limit: number): Promise<number> {
    const { failed } = this.#names;
    const page = sql`SELECT id FROM ${failed} WHERE ${condition} ORDER BY id LIMIT ${limit}`;
    const { written } = await session.query(
      sql`DELETE entry FROM (${page}) AS page STRAIGHT_JOIN ${failed} AS entry ON entry.id = page.id`.text,
    );
    return written;
  }
}

const of = (queue: string | undefined): Sql => (queue === undefined ? new Sql('') : sql`WHERE queue = ${queue}`);

const rowLimit = (limit: number): number => Math.min(Math.max(Math.ceil(limit), 0), Number.MAX_SAFE_INTEGER);

function entryOf(row: SqlRow): FailedEntry {
  const [id, connection, queue, payload, exception, name, failedAt, attempts] = row;
  return {
    id: String(id),
    connection: String(connection),
    queue: String(queue),
    payload: payload as Buffer,
    exception: String(exception),
    name: String(name),
    failedAt: Math.round(Number(failedAt)),
    attempts: Number(attempts),
  };
}

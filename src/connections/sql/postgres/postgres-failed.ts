/** Failed jobs in PostgreSQL. */
import { isUtf8 } from 'node:buffer';
import type { Seconds } from '../../../base/clock';
import type { FailedEntry, Forgotten } from '../../failed-store';
import type { FailedStatements, NewFailure, QueuedJob } from '../server/dialect';
import type { SqlRow, SqlSession } from '../server/sql-session';
import { putFailed } from './functions';
import type { Identifiers } from './identifiers';
import { pushedJob } from './pushed-job';
import { now } from './states';

/** Milliseconds since 1970. What Laravel has written is taken for UTC. */
const FAILED_AT = 'coalesce(failed_ms, round(extract(epoch FROM failed_at) * 1000)::bigint)';
const ENTRY_TYPES =
  'uuid text, connection text, queue text, payload text, raw text, exception text, name text, attempts bigint';
const ENTRY = `uuid, connection, queue, payload, encode(raw, 'base64'), exception, name, ${FAILED_AT}, attempts`;

export class PostgresFailed implements FailedStatements {
  readonly #names: Identifiers;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly #offset: () => Seconds;

  constructor(names: Identifiers, offset: () => Seconds) {
    this.#names = names;
    this.#offset = offset;
  }

  async put(session: SqlSession, entry: NewFailure): Promise<void> {
    const from = `FROM json_to_record($1) AS entry (${ENTRY_TYPES})`;
    const insert = putFailed(this.#names.failed, 'entry', now('$2'), from);
    await session.query(insert, [JSON.stringify(failedRow(entry)), this.#offset()]);
  }

  async list(
    session: SqlSession,
    queue: string | undefined,
    limit: number,
    offset: number,
  ): Promise<readonly FailedEntry[]> {
    const condition = queue === undefined ? '' : 'WHERE queue = $3';
    const { rows } = await session.query(
      `SELECT ${ENTRY} FROM ${this.#names.failed} ${condition} ORDER BY id DESC LIMIT $1 OFFSET $2`,
      [limit, offset, ...(queue === undefined ? [] : [queue])],
    );
    return rows.map(entryOf);
  }

  async get(session: SqlSession, id: string): Promise<FailedEntry | undefined> {
    const { rows } = await session.query(`SELECT ${ENTRY} FROM ${this.#names.failed} WHERE uuid = $1`, [id]);
    return rows[0] === undefined ? undefined : entryOf(rows[0]);
  }

  async count(session: SqlSession, queue: string | undefined): Promise<number> {
    const condition = queue === undefined ? '' : 'WHERE queue = $1';
    const { rows } = await session.query(
      `SELECT count(*) FROM ${this.#names.failed} ${condition}`,
      queue === undefined ? [] : [queue],
    );
    return Number(rows[0]?.[0]);
  }

  async retry(session: SqlSession, entry: FailedEntry, job: QueuedJob): Promise<boolean> {
    const { failed, queues, push } = this.#names;
    const { payload, raw } = textAndBytes(entry.payload);
    const { rows } = await session.query(
      `WITH taken AS (
         DELETE FROM ${failed}
         WHERE uuid = $1 AND ${FAILED_AT} = $2 AND payload = $3 AND raw IS NOT DISTINCT FROM decode($4, 'base64') RETURNING 1
       ), remembered AS (INSERT INTO ${queues} (name) SELECT $5::text FROM taken ON CONFLICT DO NOTHING)
       SELECT ${push}($6, ARRAY[$5::text], false, '', 0, '{}', $7) FROM taken`,
      [entry.id, entry.failedAt, payload, raw, job.queue, JSON.stringify([pushedJob(job, 0)]), this.#offset()],
    );
    return rows.length > 0;
  }

  async forget(session: SqlSession, { id, queue, payload: given }: Forgotten): Promise<boolean> {
    const forgetting = `DELETE FROM ${this.#names.failed} WHERE uuid = $1 AND queue = $2`;
    if (given === undefined) return (await session.query(forgetting, [id, queue])).written > 0;
    const { payload, raw } = textAndBytes(given);
    const isThis = `payload = $3 AND raw IS NOT DISTINCT FROM decode($4, 'base64')`;
    return (await session.query(`${forgetting} AND ${isThis}`, [id, queue, payload, raw])).written > 0;
  }

  async newest(session: SqlSession, queue: string | undefined, keep: number): Promise<number> {
    const condition = queue === undefined ? '' : 'WHERE queue = $2';
    const { rows } = await session.query(
      `SELECT id FROM ${this.#names.failed} ${condition} ORDER BY id DESC LIMIT 1 OFFSET $1`,
      [keep, ...(queue === undefined ? [] : [queue])],
    );
    return Number(rows[0]?.[0] ?? 0);
  }

  async flush(session: SqlSession, queue: string | undefined, newest: number, limit: number): Promise<number> {
    const condition = queue === undefined ? '' : 'AND queue = $3';
    return this.#remove(session, `id <= $1 ${condition}`, [newest, limit, ...(queue === undefined ? [] : [queue])]);
  }

  async pruneOlder(session: SqlSession, queue: string | undefined, age: Seconds, limit: number): Promise<number> {
    const condition = `${FAILED_AT} < (${now('$3')} - $1::double precision) * 1000`;
    const values = [age, limit, this.#offset()];
    return queue === undefined
      ? this.#remove(session, condition, values)
      : this.#remove(session, `${condition} AND queue = $4`, [...values, queue]);
  }

  /** The limit is the second of the values. */
  async #remove(session: SqlSession, condition: string, values: readonly unknown[]): Promise<number> {
    const { failed } = this.#names;
    const page = `SELECT id FROM ${failed} WHERE ${condition} ORDER BY id LIMIT $2`;
    return (await session.query(`DELETE FROM ${failed} WHERE id IN (${page})`, values)).written;
  }
}

/** As the functions take it. */
export function failedRow({ id, connection, queue, payload, exception, name, attempts }: NewFailure): object {
  return {
    uuid: id,
    connection,
    queue,
    ...textAndBytes(payload),
    exception: storable(exception),
    name: storable(name),
    attempts,
  };
}

/** A text cannot hold the character NUL, nor what is not UTF-8: then the bytes stand beside what can be read of them. */
function textAndBytes(payload: Buffer): { readonly payload: string; readonly raw: string | null } {
  const text = payload.toString();
  const whole = isUtf8(payload) && !text.includes('\0');
  return { payload: storable(text), raw: whole ? null : payload.toString('base64') };
}

const storable = (text: string): string => text.replaceAll('\0', '\uFFFD').toWellFormed();

function entryOf(row: SqlRow): FailedEntry {
  const [id, connection, queue, payload, raw, exception, name, failedAt, attempts] = row;
  return {
    id: String(id),
    connection: String(connection),
    queue: String(queue),
    payload: raw === null ? Buffer.from(String(payload)) : Buffer.from(String(raw), 'base64'),
    exception: String(exception),
    name: String(name),
    failedAt: Number(failedAt),
    attempts: Number(attempts),
  };
}

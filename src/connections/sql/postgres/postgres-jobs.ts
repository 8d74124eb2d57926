/** Waiting and running jobs in PostgreSQL. */
import type { Seconds } from '../../../base/clock';
import { uuidv7 } from '../../../payload/uuid';
import type { Counts, RenewResult, WaitingState } from '../../contract';
import type { CancelResult } from '../../control';
import type { StoredJob } from '../job-text';
import type { CallMark } from '../server/call-marks';
import type {
  Ending,
  Exchange,
  Exchanged,
  JobStatements,
  QueuedJob,
  ReservationToken,
  TakenJob,
} from '../server/dialect';
import type { SqlRow, SqlSession } from '../server/sql-session';
import { cancellationsOf, COUNTERS, jobOf } from '../stored-row';
import type { Identifiers } from './identifiers';
import { failedRow } from './postgres-failed';
import { pushedJob } from './pushed-job';
import { DELAYED, DUE, FENCE, KNOWN_ID, now, READY, RESERVED, UNREAD_ID } from './states';

const JOB = `id, payload, ${COUNTERS}, cancelled`;

/** Seconds for which it is known what a client was told. */
const RECORD_KEPT = 86_400;

const PEEKS: Readonly<Record<WaitingState, { readonly state: string; readonly at: string; readonly order: string }>> = {
  ready: { state: READY, at: 'NULL', order: 'place' },
  delayed: { state: DELAYED, at: DUE, order: `${DUE}, id` },
  reserved: { state: RESERVED, at: 'lease_until', order: 'lease_until, place' },
};

export class PostgresJobs implements JobStatements {
  readonly #names: Identifiers;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly #offset: () => Seconds;

  constructor(names: Identifiers, offset: () => Seconds) {
    this.#names = names;
    this.#offset = offset;
  }

  async push(session: SqlSession, jobs: readonly QueuedJob[], mark: CallMark | undefined): Promise<number | undefined> {
    const { client, number, unheard }: CallMark = mark ?? { client: '', number: 0, unheard: [] };
    const queues = [...new Set(jobs.map(({ queue }) => queue))].toSorted();
    // Lists as texts: a transaction of the user's may be reached through what knows no arrays, or encodes a text as JSON again.
    const { rows } = await session.query(
      `SELECT ${this.#names.push}($1::text::json, $2::text[], $3::boolean, $4::text, $5::bigint, $6::bigint[], $7::double precision)`,
      [
        JSON.stringify(jobs.map(pushedJob)),
        textArray(queues),
        jobs.some(({ unique }) => unique),
        client,
        number,
        numberArray(unheard),
        this.#offset(),
      ],
    );
    const duplicate = rows[0]?.[0] ?? null;
    return duplicate === null ? undefined : Number(duplicate);
  }

  async remember(session: SqlSession, queue: string): Promise<void> {
    await session.query(`INSERT INTO ${this.#names.queues} (name) VALUES ($1) ON CONFLICT DO NOTHING`, [queue]);
  }

  async isWithin(session: SqlSession): Promise<boolean> {
    // What is set so lasts for as long as the transaction, which may be that of the statement alone.
    await session.query(`SELECT set_config('onqueue.within', 'yes', true)`);
    const { rows } = await session.query(`SELECT current_setting('onqueue.within', true)`);
    return rows[0]?.[0] === 'yes';
  }

  async exchange(session: SqlSession, { endings, request, mark }: Exchange): Promise<Exchanged> {
    const removed = endings.filter(({ kind }) => kind === 'removed');
    const { client, number, unheard } = mark;
    const { rows } = await session.query(
      `SELECT *, ${now('$11')} FROM ${this.#names.exchange}($1::bigint[], $2::bigint[], $3::json, $4::json, $5::text[],
         $6::integer, $7::double precision, $8::text, $9::bigint, $10::bigint[], $11::double precision)`,
      [
        numberArray(removed.map(({ id }) => id)),
        numberArray(removed.map(({ fence }) => fence)),
        listOf(endings, 'released', ({ id, fence, delay, due, front, counters }) => ({
          ...{ id, fence, delay, due, front },
          ...counters,
        })),
        listOf(endings, 'failed', ({ id, fence, entry }) => ({ ...failedRow(entry), id, fence, own: uuidv7() })),
        request === undefined ? null : textArray([...new Set(request.queues)]),
        request?.limit ?? 0,
        request?.lease ?? 0,
        client,
        number,
        numberArray(unheard),
        this.#offset(),
      ],
    );
    return exchanged(rows);
  }

  async renew(
    session: SqlSession,
    tokens: readonly ReservationToken[],
    lease: Seconds,
  ): Promise<readonly RenewResult[]> {
    const { rows } = await session.query(
      `UPDATE ${this.#names.jobs} SET lease_until = ${now('$4')} + $3::double precision
       FROM unnest($1::bigint[], $2::bigint[]) AS held (held_id, fence)
       WHERE id = held_id AND ${RESERVED} AND ${FENCE} = fence RETURNING id, fence, cancelled`,
      [numberArray(tokens.map(({ id }) => id)), numberArray(tokens.map(({ fence }) => fence)), lease, this.#offset()],
    );
    const renewed = new Map(
      rows.map(([id, fence, cancelled]) => [`${Number(id)}:${Number(fence)}`, cancelled === 't']),
    );
    return tokens.map(({ id, fence }) => {
      const cancelled = renewed.get(`${id}:${fence}`);
      if (cancelled === undefined) return 'lost';
      return cancelled ? 'cancelled' : 'renewed';
    });
  }

  async rewrite(
    session: SqlSession,
    jobs: readonly (ReservationToken & { readonly payload: Buffer; readonly uuid: string })[],
  ): Promise<void> {
    const rewritten = jobs.map(({ id, fence, payload, uuid }) => ({
      id,
      fence,
      text: payload.toString(),
      new_uuid: uuid,
    }));
    await session.query(
      `UPDATE ${this.#names.jobs} AS job SET payload = text, uuid = new_uuid
       FROM json_to_recordset($1) AS given (id bigint, fence bigint, text text, new_uuid text)
       WHERE job.id = given.id AND ${RESERVED} AND ${FENCE} = fence`,
      [JSON.stringify(rewritten)],
    );
  }

  async counts(session: SqlSession, queue: string): Promise<Counts> {
    const counts = [READY, DELAYED, RESERVED].map(
      (state) => `(SELECT count(*) FROM ${this.#names.jobs} WHERE queue = $1 AND ${state})`,
    );
    const { rows } = await session.query(`SELECT ${counts.join(', ')}`, [queue]);
    const [ready, delayed, reserved] = rows[0] ?? [];
    return { ready: Number(ready), delayed: Number(delayed), reserved: Number(reserved) };
  }

  async peek(session: SqlSession, queue: string, waiting: WaitingState, limit: number): Promise<readonly StoredJob[]> {
    const { state, at, order } = PEEKS[waiting];
    const { rows } = await session.query(
      `SELECT ${JOB}, ${at} FROM ${this.#names.jobs} WHERE queue = $1 AND ${state} ORDER BY ${order} LIMIT $2`,
      [queue, Math.min(Math.ceil(limit), Number.MAX_SAFE_INTEGER)],
    );
    return rows.map(jobOf);
  }

  async now(session: SqlSession): Promise<Seconds> {
    const { rows } = await session.query(`SELECT ${now('$1')}`, [this.#offset()]);
    return Number(rows[0]![0]);
  }

  async newest(session: SqlSession): Promise<number> {
    const { rows } = await session.query(`SELECT max(id) FROM ${this.#names.jobs}`);
    return Number(rows[0]?.[0] ?? 0);
  }

  async clear(session: SqlSession, queue: string, newest: number, limit: number): Promise<number> {
    const { jobs } = this.#names;
    const pages = [READY, DELAYED, RESERVED].map(
      (state) => `(SELECT id FROM ${jobs} WHERE queue = $1 AND ${state} AND id <= $2 LIMIT $3)`,
    );
    const page = `SELECT id FROM (${pages.join(' UNION ALL ')}) AS states LIMIT $3`;
    return (await session.query(`DELETE FROM ${jobs} WHERE id IN (${page})`, [queue, newest, limit])).written;
  }

  async queues(session: SqlSession): Promise<readonly string[]> {
    const { rows } = await session.query(`SELECT name FROM ${this.#names.queues} ORDER BY name`);
    return rows.map(([name]) => String(name));
  }

  async cancel(
    session: SqlSession,
    id: string,
    queue: string | undefined,
    reason: string | undefined,
  ): Promise<CancelResult> {
    const { jobs } = this.#names;
    const { rows } = await session.query(
      `WITH found AS MATERIALIZED (
         SELECT id, ${RESERVED} AS held FROM ${jobs} WHERE uuid = $1 AND ${KNOWN_ID} AND ($2::text IS NULL OR queue = $2)
         ORDER BY ${RESERVED} DESC, id LIMIT 1 FOR UPDATE
       ), removed AS (DELETE FROM ${jobs} AS job USING found WHERE job.id = found.id AND NOT held RETURNING 'removed'),
       signalled AS (UPDATE ${jobs} AS job SET cancelled = true, cancel_reason = $3 FROM found WHERE job.id = found.id AND held RETURNING 'signalled')
       SELECT * FROM removed UNION ALL SELECT * FROM signalled`,
      [id, queue ?? null, reason ?? null],
    );
    return (rows[0]?.[0] ?? 'unknown') as CancelResult;
  }

  async cancelled(session: SqlSession, ids: readonly number[]): Promise<ReadonlyMap<number, true | string>> {
    const statement = `SELECT id, cancel_reason FROM ${this.#names.jobs} WHERE id = ANY ($1::bigint[]) AND cancelled`;
    const { rows } = await session.query(statement, [numberArray(ids)]);
    return cancellationsOf(rows);
  }

  async unread(
    session: SqlSession,
    limit: number,
  ): Promise<readonly { readonly id: number; readonly payload: Buffer }[]> {
    const { rows } = await session.query(
      `SELECT id, payload FROM ${this.#names.jobs} WHERE ${UNREAD_ID} ORDER BY id LIMIT $1`,
      [limit],
    );
    return rows.map(([id, payload]) => ({ id: Number(id), payload: Buffer.from(String(payload)) }));
  }

  async know(session: SqlSession, jobs: readonly { readonly id: number; readonly uuid: string }[]): Promise<void> {
    await session.query(
      `UPDATE ${this.#names.jobs} AS job SET uuid = known.uuid FROM json_to_recordset($1) AS known (id bigint, uuid text)
       WHERE job.id = known.id AND job.${UNREAD_ID}`,
      [JSON.stringify(jobs.map(({ id, uuid }) => ({ id, uuid: uuid.replaceAll('\0', '\uFFFD') })))],
    );
  }

  async forget(session: SqlSession, clients: readonly string[]): Promise<void> {
    await session.query(
      `DELETE FROM ${this.#names.calls} WHERE client = ANY ($1::text[]) OR called_at < ${now('$2')} - ${RECORD_KEPT}`,
      [textArray(clients), this.#offset()],
    );
  }
}

function listOf<Kind extends Ending['kind']>(
  endings: readonly Ending[],
  kind: Kind,
  row: (ending: Extract<Ending, { kind: Kind }>) => object,
): string | null {
  const found = endings.filter((ending): ending is Extract<Ending, { kind: Kind }> => ending.kind === kind);
  return found.length === 0 ? null : JSON.stringify(found.map(row));
}

/** As PostgreSQL writes a list; by this alone it is the same for every client. */
const numberArray = (numbers: readonly number[]): string => `{${numbers.join(',')}}`;

const textArray = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replaceAll(/["\\]/g, '\\$&')}"`).join(',')}}`;

function exchanged(rows: readonly SqlRow[]): Exchanged {
  const taken: TakenJob[] = [];
  for (const [kind, queue, ...job] of rows) {
    if (kind === 'job') taken.push({ ...jobOf(job.slice(0, 8)), queue: String(queue) });
  }
  const [settled = null, next = null, paused = null, restart = null, time = null] = rows.at(-1)?.slice(10) ?? [];
  return {
    settled: new Set(elements(settled).map(Number)),
    taken,
    outlook: {
      nextIn: next === null ? Infinity : Number(next),
      ...(time !== null && { now: Number(time) * 1000 }),
      ...(paused !== null && { paused: elements(paused) }),
      ...(restart !== null && { restart: String(restart) }),
    },
  };
}

/** Of a list as PostgreSQL writes it. */
function elements(list: SqlRow[number]): readonly string[] {
  const text = String(list ?? '{}').slice(1, -1);
  return [...text.matchAll(/"((?:[^"\\]|\\.)*)"|([^,]+)/g)].map(
    ([, quotedText, plain]) => plain ?? (quotedText ?? '').replaceAll(/\\(.)/g, '$1'),
  );
}

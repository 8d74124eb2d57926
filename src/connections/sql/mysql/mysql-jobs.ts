/** Waiting and running jobs in MySQL. */
import type { Seconds } from '../../../base/clock';
import type { Counts, RenewResult, WaitingState } from '../../contract';
import type { CancelResult } from '../../control';
import type { NewJob, StoredJob } from '../job-text';
import type { CallMark } from '../server/call-marks';
import type { Exchange, Exchanged, JobStatements, QueuedJob, ReservationToken } from '../server/dialect';
import type { SqlRow, SqlSession } from '../server/sql-session';
import { cancellationsOf, jobOf } from '../stored-row';
import { lockCalls, recordCall } from './call-records';
import { exchange } from './exchange';
import { DELAYED, FENCE, heldBy, JOB, now, READY, RESERVED } from './job-rows';
import { isNoSavepoint } from './mysql-errors';
import { keyOf, type MysqlNames } from './mysql-names';
import type { MysqlSession } from './mysql-session';
import type { PollWaiters } from './poll-waiters';
import { checkNames, findTwin, insertJobs, rememberQueue } from './pushing';
import { Sql, sql } from './sql';

/** Seconds for which it is known what a client was told. */
const RECORD_KEPT = 86_400;
/** Records of others that one call removes. */
const SWEPT = 100;
/** Seconds for which one who looks for a twin waits for another who does. */
const TWIN_WAIT = 2;

const PEEKS: Readonly<Record<WaitingState, { readonly state: number; readonly at: Sql; readonly order: Sql }>> = {
  ready: { state: READY, at: new Sql('NULL'), order: new Sql('turn, id') },
  delayed: { state: DELAYED, at: new Sql('turn'), order: new Sql('turn, id') },
  reserved: { state: RESERVED, at: new Sql('turn'), order: new Sql('turn, place, id') },
};

export class MysqlJobs implements JobStatements {
  readonly #names: MysqlNames;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly #offset: () => Seconds;
  readonly #waiters: PollWaiters;

  constructor(names: MysqlNames, offset: () => Seconds, waiters: PollWaiters) {
    this.#names = names;
    this.#offset = offset;
    this.#waiters = waiters;
  }

  async push(session: SqlSession, jobs: readonly QueuedJob[], mark: CallMark | undefined): Promise<number | undefined> {
    checkNames(jobs);
    const inserts = insertJobs(this.#names, jobs, this.#now);
    if (mark === undefined) return this.#pushWithin(session, jobs, inserts);
    const nothing = { settled: new Sql('NULL'), lease: new Sql('NULL'), condition: new Sql('TRUE') };
    const queues = [...new Set(jobs.map(({ queue }) => queue))].toSorted();
    const writes = [
      recordCall(this.#names, mark, this.#now, nothing),
      ...queues.map((queue) => rememberQueue(this.#names, queue)),
      ...inserts,
    ];
    const own = session as MysqlSession;
    const needsCare = mark.unheard.length > 0 || jobs.some(({ unique }) => unique);
    const twin = needsCare ? await this.#pushWithCare(own, jobs, mark, writes) : undefined;
    if (!needsCare) await own.atOnce(writes);
    for (const queue of queues) this.#waiters.hint(queue);
    return twin;
  }

  async remember(session: SqlSession, queue: string): Promise<void> {
    await session.query(rememberQueue(this.#names, queue).text);
  }

  async isWithin(session: SqlSession): Promise<boolean> {
    await session.query('SAVEPOINT onqueue_within');
    try {
      await session.query('RELEASE SAVEPOINT onqueue_within');
      return true;
    } catch (error) {
      if (isNoSavepoint(error)) return false;
      throw error;
    }
  }

  async exchange(session: SqlSession, asked: Exchange): Promise<Exchanged> {
    const exchanged = await exchange(this.#names, session as MysqlSession, asked, this.#now);
    for (const ending of asked.endings) if (ending.kind === 'released') this.#waiters.hint(ending.queue);
    if (exchanged.taken.length > 0) this.#waiters.busy(exchanged.taken.map(({ queue }) => queue));
    return exchanged;
  }

  async renew(
    session: SqlSession,
    tokens: readonly ReservationToken[],
    lease: Seconds,
  ): Promise<readonly RenewResult[]> {
    const { jobs } = this.#names;
    const held = heldBy(tokens);
    const [, answer] = await (session as MysqlSession).atOnce([
      sql`UPDATE ${jobs} FORCE INDEX (PRIMARY) SET lease_until = ${this.#now} + ${lease} WHERE ${held}`,
      sql`SELECT id, ${FENCE}, cancelled FROM ${jobs} WHERE ${held}`,
    ]);
    const renewed = new Map(
      answer!.rows.map(([id, fence, cancelled]) => [`${Number(id)}:${Number(fence)}`, Number(cancelled) !== 0]),
    );
    return tokens.map(({ id, fence }) => {
      const cancelled = renewed.get(`${id}:${fence}`);
      if (cancelled === undefined) return 'lost';
      return cancelled ? 'cancelled' : 'renewed';
    });
  }

  async rewrite(
    session: SqlSession,
    jobs: readonly (ReservationToken & Pick<NewJob, 'uuid'> & { readonly payload: Buffer })[],
  ): Promise<void> {
    await (session as MysqlSession).atOnce(
      jobs.map(
        (job) =>
          sql`UPDATE ${this.#names.jobs} SET payload = ${job.payload}, uuid = ${keyOf(job.uuid)} WHERE ${heldBy([job])}`,
      ),
    );
  }

  async counts(session: SqlSession, queue: string): Promise<Counts> {
    const { jobs, turns } = this.#names;
    const rows = await this.#rows(
      session,
      sql`SELECT state, COUNT(*) FROM ${jobs} FORCE INDEX (${turns}) WHERE queue = ${queue} GROUP BY state`,
    );
    const counted = new Map(rows.map(([state, count]) => [Number(state), Number(count)]));
    const of = (state: number): number => counted.get(state) ?? 0;
    return { ready: of(READY), delayed: of(DELAYED), reserved: of(RESERVED) };
  }

  async peek(session: SqlSession, queue: string, waiting: WaitingState, limit: number): Promise<readonly StoredJob[]> {
    const { jobs, turns } = this.#names;
    const { state, at, order } = PEEKS[waiting];
    const rows = await this.#rows(
      session,
      sql`SELECT ${JOB}, ${at} FROM ${jobs} FORCE INDEX (${turns}) WHERE queue = ${queue} AND state = ${state}
        ORDER BY ${order} LIMIT ${Math.min(Math.ceil(limit), Number.MAX_SAFE_INTEGER)}`,
    );
    return rows.map(jobOf);
  }

  async now(session: SqlSession): Promise<Seconds> {
    const { rows } = await session.query(sql`SELECT ${this.#now}`.text);
    return Number(rows[0]![0]);
  }

  async newest(session: SqlSession): Promise<number> {
    const rows = await this.#rows(session, sql`SELECT MAX(id) FROM ${this.#names.jobs}`);
    return Number(rows[0]?.[0] ?? 0);
  }

  async clear(session: SqlSession, queue: string, newest: number, limit: number): Promise<number> {
    const { jobs, turns } = this.#names;
    const page = sql`SELECT id FROM ${jobs} FORCE INDEX (${turns}) WHERE queue = ${queue} AND id <= ${newest} LIMIT ${limit}`;
    const { written } = await session.query(
      sql`DELETE job FROM (${page}) AS page STRAIGHT_JOIN ${jobs} AS job ON job.id = page.id`.text,
    );
    return written;
  }

  async queues(session: SqlSession): Promise<readonly string[]> {
    const rows = await this.#rows(session, sql`SELECT name FROM ${this.#names.queues} ORDER BY name`);
    return rows.map(([name]) => String(name));
  }

  async cancel(
    session: SqlSession,
    id: string,
    queue: string | undefined,
    reason: string | undefined,
  ): Promise<CancelResult> {
    const { jobs, ids } = this.#names;
    const condition = queue === undefined ? new Sql('TRUE') : sql`queue = ${queue}`;
    const results = await (session as MysqlSession).atOnce(
      [
        sql`SET @onqueue_id = NULL, @onqueue_held = NULL`,
        sql`SELECT id, reserved_at IS NOT NULL INTO @onqueue_id, @onqueue_held FROM ${jobs} FORCE INDEX (${ids})
          WHERE uuid = ${keyOf(id)} AND uuid <> '' AND ${condition} ORDER BY reserved_at IS NULL, id LIMIT 1 FOR UPDATE`,
        sql`DELETE FROM ${jobs} WHERE id = @onqueue_id AND reserved_at IS NULL`,
        sql`UPDATE ${jobs} SET cancelled = 1, cancel_reason = ${reason ?? null} WHERE id = @onqueue_id AND reserved_at IS NOT NULL`,
      ],
      [sql`SELECT @onqueue_held`],
    );
    const held = results.at(-1)!.rows[0]?.[0] ?? null;
    if (held === null) return 'unknown';
    return Number(held) === 0 ? 'removed' : 'signalled';
  }

  async cancelled(session: SqlSession, ids: readonly number[]): Promise<ReadonlyMap<number, true | string>> {
    const { jobs } = this.#names;
    const statement = sql`SELECT id, cancel_reason FROM ${jobs} FORCE INDEX (PRIMARY) WHERE id IN (${ids}) AND cancelled`;
    return cancellationsOf((await session.query(statement.text)).rows);
  }

  async unread(
    session: SqlSession,
    limit: number,
  ): Promise<readonly { readonly id: number; readonly payload: Buffer }[]> {
    const rows = await this.#rows(
      session,
      sql`SELECT id, payload FROM ${this.#names.jobs} WHERE uuid IS NULL LIMIT ${limit}`,
    );
    return rows.map(([id, payload]) => ({ id: Number(id), payload: payload as Buffer }));
  }

  async know(session: SqlSession, jobs: readonly { readonly id: number; readonly uuid: string }[]): Promise<void> {
    await (session as MysqlSession).atOnce(
      jobs.map(
        ({ id, uuid }) => sql`UPDATE ${this.#names.jobs} SET uuid = ${keyOf(uuid)} WHERE id = ${id} AND uuid IS NULL`,
      ),
    );
  }

  async forget(session: SqlSession, clients: readonly string[]): Promise<void> {
    const { calls } = this.#names;
    const old = sql`SELECT client FROM ${calls} WHERE called_at < ${this.#now} - ${RECORD_KEPT} LIMIT ${SWEPT}
      FOR UPDATE SKIP LOCKED`;
    await (session as MysqlSession).atOnce([
      sql`DELETE FROM ${calls} WHERE client IN (${clients})`,
      sql`DELETE record FROM (${old}) AS old STRAIGHT_JOIN ${calls} AS record ON record.client = old.client`,
    ]);
  }

  get #now(): Sql {
    return now(this.#offset());
  }

  async #rows(session: SqlSession, statement: Sql): Promise<readonly SqlRow[]> {
    return (await session.query(statement.text)).rows;
  }

  /** One statement after another: a client of the user's own may take no more than one at once. */
  async #pushWithin(
    session: SqlSession,
    jobs: readonly QueuedJob[],
    inserts: readonly Sql[],
  ): Promise<number | undefined> {
    const twin = await this.#twinOf(session, jobs);
    if (twin !== undefined) return twin;
    for (const { text } of inserts) await session.query(text);
    return undefined;
  }

  /** Looks before it writes: whether it was done already, and whether a very text is there. */
  async #pushWithCare(
    session: MysqlSession,
    jobs: readonly QueuedJob[],
    mark: CallMark,
    writes: readonly Sql[],
  ): Promise<number | undefined> {
    const isUnique = jobs.some(({ unique }) => unique);
    // Of two that push one text at once, the second must see what the first has written.
    if (isUnique) await session.query(`SELECT GET_LOCK(CONCAT('onqueue twins ', DATABASE()), ${TWIN_WAIT})`);
    try {
      return await session.transaction(async () => {
        if (mark.unheard.length > 0) {
          for (const { text } of lockCalls(this.#names, mark)) await session.query(text);
          const [wasDone] = await this.#rows(session, sql`SELECT @onqueue_was_done`);
          if (Number(wasDone?.[0]) === 1) return undefined;
        }
        const twin = await this.#twinOf(session, jobs);
        if (twin !== undefined) return twin;
        for (const { text } of writes) await session.query(text);
        return undefined;
      });
    } finally {
      if (isUnique) await session.query('DO RELEASE_ALL_LOCKS()');
    }
  }

  /** The index of a job that is not as unique as it must be. */
  async #twinOf(session: SqlSession, jobs: readonly QueuedJob[]): Promise<number | undefined> {
    const texts = new Set<string>();
    for (const [index, job] of jobs.entries()) {
      if (!job.unique) continue;
      const text = `${job.queue}\n${String(job.payload)}`;
      const { rows } = await session.query(findTwin(this.#names, job).text);
      if (rows.length > 0 || texts.has(text)) return index;
      texts.add(text);
    }
    return undefined;
  }
}

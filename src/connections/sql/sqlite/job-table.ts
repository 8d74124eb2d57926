/** The waiting and running jobs of one file, and their moves from state to state: each method is part of a transaction. */
import { isUtf8 } from 'node:buffer';
import type { Seconds } from '../../../base/clock';
import type { Counters } from '../../../payload/counters';
import type { Counts, RenewResult, WaitingState } from '../../contract';
import type { NewJob, StoredJob } from '../job-text';
import type { TableNames } from '../table-names';
import { COUNTERS, jobOf, MOST_COUNTED } from '../stored-row';
import { toMicroseconds } from './moment';
import { PAUSED_UNTIL } from './order-table';
import type { SqliteDatabase, SqliteStatement, SqliteValue } from './sqlite-database';
import { DELAYED, READY, RESERVED, TEXT_END, TEXT_LENGTH } from './tables';

/** What is known of a queue without a lock. */
export interface Outlook {
  readonly ready: boolean;
  /** When the first delayed job becomes ready, seconds since 1970. */
  readonly due: Seconds;
  /** When the first lease ends. */
  readonly leaseEnd: Seconds;
  /** When its pause ends, seconds since 1970; Infinity: when it is resumed; -Infinity: it is not paused. */
  readonly pausedUntil: Seconds;
  /** Of the whole file: changes with each restart; undefined: there was none. */
  readonly restart: string | undefined;
}

/** How much one call may move. */
export interface Bounds {
  readonly jobs: number;
  readonly bytes: number;
  /** Nothing was moved yet: the first job may be moved however long it is, or it would stay for ever. */
  readonly first: boolean;
}

const PAYLOAD = 'CAST(payload AS BLOB)';
const JOB = `id, ${PAYLOAD}, ${COUNTERS}, cancelled`;
/** More than a counter can reach. */
/** Grows by one with each reservation of a job: with its id it tells a reservation from all others. */
const FENCE = 'attempts + crashes + releases';

/** SQLite keeps any value in any column. What is no counter is none: see `MOST_COUNTED`. */
const sane = (counter: string): string => `min(max(CAST(${counter} AS INTEGER), 0), ${MOST_COUNTED})`;
const OTHER_COUNTERS = ['crashes', 'exceptions', 'timeouts', 'releases']
  .map((name) => `${name} = ${sane(name)}`)
  .join();
/** Beside it there is no room left in a number. */
const IN_LINE = `place BETWEEN -${MOST_COUNTED} AND ${MOST_COUNTED}`;

export class JobTable {
  /** A job that went through nothing yet: each value that is bound costs time, and most counters are 0. */
  readonly #insertNew: SqliteStatement;
  readonly #insert: SqliteStatement;
  readonly #isDelayed: SqliteStatement;
  readonly #outlook: SqliteStatement;
  readonly #tail: SqliteStatement;
  readonly #head: SqliteStatement;
  readonly #reclaim: SqliteStatement;
  readonly #promote: SqliteStatement;
  readonly #take: SqliteStatement;
  readonly #rewrite: SqliteStatement;
  readonly #delete: SqliteStatement;
  readonly #complete: SqliteStatement;
  readonly #release: SqliteStatement;
  readonly #giveBack: SqliteStatement;
  readonly #renew: SqliteStatement;
  readonly #counts: SqliteStatement;
  readonly #peek: { readonly [State in WaitingState]: SqliteStatement };
  readonly #newest: SqliteStatement;
  readonly #clear: SqliteStatement;
  readonly #remember: SqliteStatement;
  readonly #queues: SqliteStatement;

  constructor(database: SqliteDatabase, { jobs, queues, orders }: TableNames) {
    const prepare = (sql: string): SqliteStatement => database.prepare(sql);
    this.#insertNew = prepare(
      `INSERT INTO ${jobs} (queue, payload, uuid, available_at, created_at, place) VALUES (?, ?, ?, ?, ?, ?)`,
    );
    this.#insert = prepare(
      `INSERT INTO ${jobs} (queue, payload, uuid, available_at, created_at, place, ${COUNTERS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#isDelayed = prepare(
      `SELECT 1 FROM ${jobs}
       WHERE queue = ?1 AND ${DELAYED} AND ${TEXT_LENGTH} = length(?2) AND ${TEXT_END} = substr(?2, -64) AND ${PAYLOAD} = ?2`,
    );
    this.#outlook = prepare(`SELECT
      (SELECT 1 FROM ${jobs} WHERE queue = ?1 AND ${READY} LIMIT 1),
      (SELECT min(available_at) FROM ${jobs} WHERE queue = ?1 AND ${DELAYED}),
      (SELECT min(lease_until) FROM ${jobs} WHERE queue = ?1 AND ${RESERVED}),
      (SELECT ${PAUSED_UNTIL} FROM ${orders} WHERE kind = 'pause' AND value = ?1),
      (SELECT CAST(value AS BLOB) FROM ${orders} WHERE kind = 'restart')`);
    this.#tail = prepare(`SELECT max(place) FROM ${jobs} WHERE queue = ? AND ${READY} AND ${IN_LINE}`);
    this.#head = prepare(`SELECT min(place) FROM ${jobs} WHERE queue = ? AND ${READY} AND ${IN_LINE}`);
    this.#reclaim = prepare(`UPDATE ${jobs}
      SET place = ?6 + n, reserved_at = NULL, lease_until = NULL, attempts = max(${sane('attempts')} - 1, 0),
        crashes = ${sane('crashes')} + 1
      FROM (${within(jobs, `${RESERVED} AND lease_until <= ?2`, 'lease_until, place')}) WHERE id = chosen
      RETURNING ${TEXT_LENGTH}`);
    this.#promote = prepare(`UPDATE ${jobs} SET place = ?6 + n
      FROM (${within(jobs, `${DELAYED} AND available_at <= ?2`, 'available_at, chosen')}) WHERE id = chosen
      RETURNING ${TEXT_LENGTH}`);
    this.#take =
      prepare(`UPDATE ${jobs} SET reserved_at = ?2, lease_until = ?6, attempts = ${sane('attempts')} + 1, ${OTHER_COUNTERS}
      FROM (${within(jobs, READY, 'place')}) WHERE id = chosen
      RETURNING ${JOB}, NULL, place`);
    this.#rewrite = prepare(`UPDATE ${jobs} SET payload = ?, uuid = ? WHERE id = ?`);
    this.#delete = prepare(`DELETE FROM ${jobs} WHERE id = ?`);
    this.#complete = prepare(`DELETE FROM ${jobs} WHERE id = ? AND ${RESERVED} AND ${FENCE} = ?`);
    const release = (place: string): SqliteStatement =>
      prepare(`UPDATE ${jobs}
      SET reserved_at = NULL, lease_until = NULL, attempts = ?3, crashes = ?4, exceptions = ?5, timeouts = ?6, releases = ?7,
        available_at = ?8, place = ${place}
      WHERE id = ?1 AND ${RESERVED} AND ${FENCE} = ?2`);
    this.#release = release('?9');
    this.#giveBack = release('place');
    this.#renew = prepare(
      `UPDATE ${jobs} SET lease_until = ?3 WHERE id = ?1 AND ${RESERVED} AND ${FENCE} = ?2 RETURNING cancelled`,
    );
    this.#counts = prepare(
      `SELECT ${[READY, DELAYED, RESERVED]
        .map((state) => `(SELECT count(*) FROM ${jobs} WHERE queue = ?1 AND ${state})`)
        .join(', ')}`,
    );
    const peek = (state: string, at: string, order: string): SqliteStatement =>
      prepare(`SELECT ${JOB}, ${at} FROM ${jobs} WHERE queue = ? AND ${state} ORDER BY ${order} LIMIT ?`);
    this.#peek = {
      ready: peek(READY, 'NULL', 'place'),
      delayed: peek(DELAYED, 'available_at', 'available_at, id'),
      reserved: peek(RESERVED, 'lease_until', 'lease_until, place'),
    };
    this.#newest = prepare(`SELECT max(id) FROM ${jobs}`);
    this.#clear = prepare(
      `DELETE FROM ${jobs} WHERE id IN (${[READY, DELAYED, RESERVED]
        .map((state) => `SELECT * FROM (SELECT id FROM ${jobs} WHERE queue = ?1 AND ${state} AND id <= ?2 LIMIT ?3)`)
        .join(' UNION ALL ')} LIMIT ?3)`,
    );
    this.#remember = prepare(`INSERT OR IGNORE INTO ${queues} (name) VALUES (?)`);
    this.#queues = prepare(`SELECT CAST(name AS BLOB) FROM ${queues} ORDER BY name`);
  }

  /** From then on the queue is known, also when it is empty again. */
  insert(queue: string, entries: readonly NewJob[], now: Seconds): void {
    this.#remember.run([queue]);
    let end = this.#endOf(queue);
    for (const { payload, uuid, counters, delay } of entries) {
      const place = delay > 0 ? null : (end += 1);
      const due = toMicroseconds(now + Math.max(delay, 0));
      const values = [queue, storable(payload), uuid, due, now, place];
      const counts = valuesOf(counters);
      if (counts.every((count) => count === 0)) this.#insertNew.run(values);
      else this.#insert.run([...values, ...counts]);
    }
  }

  isDelayed(queue: string, payload: string): boolean {
    return this.#isDelayed.get([queue, Buffer.from(payload)]) !== undefined;
  }

  outlook(queue: string): Outlook {
    const [ready = null, due = null, leaseEnd = null, pause = null, restart = null] = this.#outlook.get([queue]) ?? [];
    // A text that somebody has put there is no moment that comes.
    const moment = (value: SqliteValue): Seconds => (typeof value === 'number' ? value : Infinity);
    return {
      ready: ready !== null,
      due: moment(due),
      leaseEnd: moment(leaseEnd),
      pausedUntil: pause === null ? -Infinity : moment(pause),
      restart: restart === null ? undefined : String(restart),
    };
  }

  /** Jobs whose lease has ended go to the head, in the order of the ends. Returns their lengths. */
  reclaim(queue: string, now: Seconds, bounds: Bounds): readonly number[] {
    const before = Number(this.#head.get([queue])?.[0] ?? 1) - 1 - bounds.jobs;
    const rows = this.#reclaim.all([queue, now, bounds.jobs, bounds.bytes, bounds.first ? 1 : 0, before]);
    return rows.map(([length]) => Number(length));
  }

  /** Delayed jobs that are due go to the tail, in the order of their moments. Returns their lengths. */
  promote(queue: string, now: Seconds, bounds: Bounds): readonly number[] {
    const end = this.#endOf(queue);
    const rows = this.#promote.all([queue, now, bounds.jobs, bounds.bytes, bounds.first ? 1 : 0, end]);
    return rows.map(([length]) => Number(length));
  }

  /** Reserves the first in line. */
  take(queue: string, now: Seconds, lease: Seconds, bounds: Bounds): readonly StoredJob[] {
    const leaseEnd = toMicroseconds(now + lease);
    const rows = this.#take.all([queue, now, bounds.jobs, bounds.bytes, bounds.first ? 1 : 0, leaseEnd]);
    // An UPDATE gives its rows in an order of its own.
    return rows.toSorted((a, b) => Number(a[9]) - Number(b[9])).map(jobOf);
  }

  /** Gives a job another text, with this `id` in it. */
  rewrite(id: number, payload: Buffer, uuid: string): void {
    this.#rewrite.run([storable(payload), uuid, id]);
  }

  delete(id: number): void {
    this.#delete.run([id]);
  }

  /** False: the reservation is no longer the one it was. So with the others below. */
  complete(id: number, fence: number): boolean {
    return this.#complete.run([id, fence]) > 0;
  }

  release(id: number, fence: number, queue: string, counters: Counters, now: Seconds, delay: Seconds): boolean {
    const place = delay > 0 ? null : this.#endOf(queue) + 1;
    const due = toMicroseconds(now + Math.max(delay, 0));
    return this.#release.run([id, fence, ...valuesOf(counters), due, place]) > 0;
  }

  /** To the place in line that it has kept. */
  giveBack(id: number, fence: number, counters: Counters, now: Seconds): boolean {
    return this.#giveBack.run([id, fence, ...valuesOf(counters), toMicroseconds(now)]) > 0;
  }

  renew(id: number, fence: number, leaseEnd: Seconds): RenewResult {
    const [row] = this.#renew.all([id, fence, leaseEnd]);
    if (row === undefined) return 'lost';
    return Number(row[0]) > 0 ? 'cancelled' : 'renewed';
  }

  counts(queue: string): Counts {
    const [ready, delayed, reserved] = this.#counts.get([queue]) ?? [];
    return { ready: Number(ready), delayed: Number(delayed), reserved: Number(reserved) };
  }

  peek(queue: string, state: WaitingState, limit: number): readonly StoredJob[] {
    return this.#peek[state].all([queue, rowLimit(limit)]).map(jobOf);
  }

  /** The id that no job older than now exceeds. */
  newest(): number {
    return Number(this.#newest.get([])?.[0] ?? 0);
  }

  /** Removes up to `limit` jobs that are no newer than `newest`; returns how many. */
  clear(queue: string, newest: number, limit: number): number {
    return this.#clear.run([queue, newest, limit]);
  }

  queues(): readonly string[] {
    return this.#queues.all([]).map(([name]) => String(name));
  }

  #endOf(queue: string): number {
    return Number(this.#tail.get([queue])?.[0] ?? 0);
  }
}

/**
 * The first jobs in a state, as many as the bounds allow, each with its number.
 *
 * ?1 queue, ?2 now, ?3 jobs, ?4 bytes, ?5 whether the first one passes however long it is.
 */
function within(jobs: string, condition: string, order: string): string {
  return `SELECT chosen, n FROM (
    SELECT chosen, row_number() OVER up_to_here AS n, sum(size) OVER up_to_here AS total
    FROM (
      SELECT id AS chosen, ${TEXT_LENGTH} AS size, place, available_at, lease_until
      FROM ${jobs} WHERE queue = ?1 AND ${condition} ORDER BY ${order} LIMIT ?3
    )
    WINDOW up_to_here AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)
  ) WHERE total <= ?4 OR (n = 1 AND ?5)`;
}

/** SQLite counts rows in integers, and refuses Infinity. */
export const rowLimit = (limit: number): number => Math.min(Math.max(Math.ceil(limit), 0), Number.MAX_SAFE_INTEGER);

/** As text where it is one, so that it can be read in any client. */
export function storable(payload: string | Buffer): string | Buffer {
  return typeof payload === 'string' || !isUtf8(payload) ? payload : payload.toString();
}

/** In the order of `COUNTERS`. */
function valuesOf({ attempts, crashes, exceptions, timeouts, releases }: Counters): readonly number[] {
  return [attempts, crashes, exceptions, timeouts, releases];
}

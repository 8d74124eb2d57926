/** Jobs on their way into and out of the tables of MySQL. */
import type { Seconds } from '../../../base/clock';
import type { RenewResult } from '../../contract';
import type { CallMark } from '../call-marks';
import {
  type Exchange,
  type Exchanged,
  type Holders,
  type JobStatements,
  type QueuedJob,
  type ReservationToken,
  renewResults,
} from '../dialect';
import { FENCE } from '../columns';
import { firstTwin } from '../jobs';
import { raw, rowsOf, run, type Sql, sql, type SqlRow, transaction, type Work } from '../statement';
import { lockCalls, recordCall, recordHeld } from './call-records';
import { Claims } from './claims';
import { DELAYED, heldBy, now } from './columns';
import { DebouncedJobs } from './debounced-jobs';
import { exchange } from './exchange';
import { isNoSavepoint } from './mysql-errors';
import { keyOf, type MysqlNames } from './mysql-names';
import { packet } from './mysql-session';
import { insertCandidates, insertJobs, queuesOf, remember } from './new-rows';
import { UniqueKeys } from './unique-keys';

/** Seconds for which one who looks for a twin waits for another who does. */
const TWIN_WAIT = 2;

export class MysqlJobs implements JobStatements {
  readonly #names: MysqlNames;
  readonly #keys: UniqueKeys;
  /** Seconds to add to the server's clock: 0 outside tests. */
  readonly #offset: () => Seconds;

  constructor(names: MysqlNames, offset: () => Seconds) {
    this.#names = names;
    this.#keys = new UniqueKeys(names);
    this.#offset = offset;
  }

  push(jobs: readonly QueuedJob[], mark: CallMark | undefined): Work<number | Holders | undefined> {
    if (jobs.every(({ tie, debounce }) => tie === undefined && debounce === undefined))
      return this.#pushPlain(jobs, mark);
    const claims = new Claims(jobs);
    return mark === undefined ? this.#pushTiedWithin(claims) : this.#pushTied(claims, mark);
  }

  *#pushPlain(jobs: readonly QueuedJob[], mark: CallMark | undefined): Work<number | undefined> {
    const queues = queuesOf(jobs);
    const inserts = [
      sql`SET @onqueue_now = ${this.#now}`,
      ...queues.flatMap((queue) => insertJobs(this.#names, queue, jobs)),
    ];
    if (mark === undefined) return yield* this.#insertUnlessTwin(jobs, inserts);
    const writes = [this.#record(mark), ...queues.map((queue) => this.remember(queue)), ...inserts];
    const isUnique = jobs.some(({ unique }) => unique);
    if (mark.unheard.length > 0 || isUnique) return yield* this.#pushWithCare(jobs, mark, writes, isUnique);
    yield* packet(writes);
    return undefined;
  }

  /** What is held is found out within the packet: no process that stops on the way keeps a key locked. */
  *#pushTied(claims: Claims, mark: CallMark): Work<number | Holders | undefined> {
    const { jobs } = claims;
    const queues = queuesOf(jobs);
    const debounced = new DebouncedJobs(this.#names, jobs);
    const keys = [...claims.all.map(({ key }) => key), ...debounced.keys];
    const writes = [
      sql`SET @onqueue_now = ${this.#now}`,
      this.#record(mark),
      ...this.#keys.take(claims),
      ...queues.map((queue) => this.remember(queue)),
      ...queues.flatMap((queue) => insertCandidates(this.#names, queue, claims.candidates)),
      ...debounced.statements,
      recordHeld(this.#names, mark),
      ...this.#keys.sweep(keys),
    ];
    const answer = raw('SELECT @onqueue_held');
    const isUnique = jobs.some(({ unique }) => unique);
    if (mark.unheard.length > 0 || isUnique) {
      const twin = yield* this.#pushWithCare(jobs, mark, writes, isUnique);
      return twin ?? claims.holdersIn(textOf(yield* rowsOf(answer)));
    }
    const [held] = yield* packet(writes, [answer]);
    return claims.holdersIn(textOf(held!.rows));
  }

  *#pushTiedWithin(claims: Claims): Work<number | Holders | undefined> {
    const twin = yield* firstTwin(claims.jobs, (job) => this.#twinOf(job));
    if (twin !== undefined) return twin;
    const held = yield* this.#keys.takeEach(claims, this.#now);
    const staying = claims.holders(held, '');
    const jobs = claims.jobs.filter(({ debounce }, place) => debounce === undefined && staying?.has(place) !== true);
    yield* run(sql`SET @onqueue_now = ${this.#now}, @onqueue_held = ''`);
    for (const queue of queuesOf(jobs)) {
      for (const statement of insertJobs(this.#names, queue, jobs)) yield* run(statement);
    }
    for (const statement of new DebouncedJobs(this.#names, claims.jobs).statements) yield* run(statement);
    return claims.holders(held, textOf(yield* rowsOf(raw('SELECT @onqueue_held'))));
  }

  #record(mark: CallMark): Sql {
    return recordCall(this.#names, mark, this.#now, {
      settled: raw('NULL'),
      lease: raw('NULL'),
      condition: raw('TRUE'),
    });
  }

  remember(queue: string): Sql {
    return remember(this.#names, queue);
  }

  *isWithin(): Work<boolean> {
    yield* run(raw('SAVEPOINT onqueue_within'));
    try {
      yield* run(raw('RELEASE SAVEPOINT onqueue_within'));
      return true;
    } catch (error) {
      if (isNoSavepoint(error)) return false;
      throw error;
    }
  }

  exchange(asked: Exchange): Work<Exchanged> {
    return exchange(this.#names, asked, this.#now);
  }

  *renew(tokens: readonly ReservationToken[], lease: Seconds): Work<readonly RenewResult[]> {
    const { jobs } = this.#names;
    const held = heldBy(tokens);
    const [, answer] = yield [
      sql`UPDATE ${jobs} FORCE INDEX (PRIMARY) SET lease_until = ${this.#now} + ${lease} WHERE ${held}`,
      sql`SELECT id, ${raw(FENCE)}, cancelled FROM ${jobs} WHERE ${held}`,
    ];
    return renewResults(tokens, answer!.rows);
  }

  get #now(): Sql {
    return now(this.#offset());
  }

  /** Writes only if it was not done before, and no job that must be unique is there already. */
  *#pushWithCare(
    jobs: readonly QueuedJob[],
    mark: CallMark,
    writes: readonly Sql[],
    isUnique: boolean,
  ): Work<number | undefined> {
    // Of two that push one text at once, the second must see what the first has written.
    if (isUnique) yield* run(sql`SELECT GET_LOCK(CONCAT('onqueue twins ', DATABASE()), ${TWIN_WAIT})`);
    try {
      return yield* transaction(this.#pushUnlessDone(jobs, mark, writes));
    } finally {
      if (isUnique) yield* run(raw('DO RELEASE_ALL_LOCKS()'));
    }
  }

  *#pushUnlessDone(jobs: readonly QueuedJob[], mark: CallMark, writes: readonly Sql[]): Work<number | undefined> {
    if (mark.unheard.length > 0) {
      for (const statement of lockCalls(this.#names, mark)) yield* run(statement);
      const [wasDone] = yield* rowsOf(raw('SELECT @onqueue_was_done'));
      if (Number(wasDone?.[0]) === 1) {
        yield* run(raw('SET @onqueue_held = @onqueue_before'));
        return undefined;
      }
    }
    return yield* this.#insertUnlessTwin(jobs, writes);
  }

  /** Returns the index of a job that must be unique and is not. */
  *#insertUnlessTwin(jobs: readonly QueuedJob[], writes: readonly Sql[]): Work<number | undefined> {
    const twin = yield* firstTwin(jobs, (job) => this.#twinOf(job));
    if (twin !== undefined) return twin;
    for (const statement of writes) yield* run(statement);
    return undefined;
  }

  /** Waits as delayed with this very text. A job of Laravel's has no id that was read. */
  #twinOf({ queue, payload, uuid }: QueuedJob): Sql {
    const bytes = Buffer.from(payload);
    return sql`SELECT id FROM ${this.#names.jobs} WHERE (uuid = ${keyOf(uuid)} OR uuid IS NULL) AND size = ${bytes.length}
      AND queue = ${queue} AND state = ${DELAYED} AND payload = ${bytes} LIMIT 1`;
  }
}

const textOf = ([row]: readonly SqlRow[]): string => String(row?.[0] ?? '');

/** Moves jobs into and out of the tables of MySQL. */
import type { Seconds } from '../../../base/clock';
import type { BatchEnd, NewBatch } from '../../batch-store';
import type { RenewResult } from '../../contract';
import { batchBeginning } from '../batches';
import type { CallMark } from '../calls';
import {
  lanesIn,
  renewResults,
  FENCE,
  type Exchange,
  type Exchanged,
  type Holders,
  type JobStatements,
  type PushAnswer,
  type QueuedJob,
  type ReservationToken,
  type TiedReservation,
  type Wording,
} from '../dialect';
import { firstTwin } from '../jobs';
import { raw, run, runEach, sql, transaction, valueOf, type Sql, type Work } from '../statement';
import { findEnd, join, REFUSE } from './batches';
import {
  lockCalls,
  recordCall,
  recordHeld,
  insertCandidates,
  insertJobs,
  queuesOf,
  remember,
  DELAYED,
  heldBy,
  keyOf,
  type MysqlNames,
} from './rows';
import { Claims, debounceKeys, pushDebounced, giveUpKeys, sweepKeys, takeBackKeys, takeEach, takeKeys } from './keys';
import { exchange } from './exchange';
import { around } from './lanes';
import { isNoSavepoint, isTwoRows } from './errors';
import { packet } from './pool';

/** Seconds that one push with unique jobs waits for another one. */
const TWIN_WAIT = 2;

export class MysqlJobs implements JobStatements {
  readonly #names: MysqlNames;
  readonly #wording: Wording;

  constructor(names: MysqlNames, wording: Wording) {
    this.#names = names;
    this.#wording = wording;
  }

  push(jobs: readonly QueuedJob[], mark: CallMark | undefined, begins?: NewBatch): Work<PushAnswer> {
    const claims = new Claims(jobs);
    const batch = begins?.id ?? jobs[0]?.batch?.id;
    if (batch !== undefined) return this.#pushOfBatch(batch, begins, claims, mark);
    if (mark === undefined) return this.#pushWithin(claims);
    // The packet itself finds out which keys are held, so a process that stops halfway keeps no key locked.
    const writes = [sql`SET @onqueue_now = ${this.#names.now()}`, ...this.#writes(claims, mark)];
    return this.#send(claims, mark, writes);
  }

  #writes(claims: Claims, mark: CallMark, begins?: NewBatch): readonly Sql[] {
    const names = this.#names;
    const { jobs } = claims;
    const queues = queuesOf(jobs);
    const remembered = begins === undefined ? queues : queuesOf([...jobs, ...begins.callbacks]);
    const remembering = this.remember(remembered);
    if (!claims.hasKeys)
      return [this.#record(mark), ...remembering, ...this.#adding(jobs, (queue) => insertJobs(names, queue, jobs))];
    return [
      this.#record(mark),
      ...takeKeys(names, claims),
      ...remembering,
      ...this.#adding(jobs, (queue) => insertCandidates(names, queue, claims.candidates), pushDebounced(names, jobs)),
      recordHeld(names, mark),
      ...sweepKeys(names, [...claims.all.map(({ key }) => key), ...debounceKeys(jobs)]),
    ];
  }

  /** @param insert the statements that add the jobs of a queue */
  #adding(
    jobs: readonly QueuedJob[],
    insert: (queue: string) => readonly Sql[],
    more: readonly Sql[] = [],
  ): readonly Sql[] {
    const queues = queuesOf(jobs);
    return around(this.#names, [...queues.flatMap(insert), ...more], lanesIn(jobs), {
      keepPlaces: queues.length === 1,
    });
  }

  *#send(claims: Claims, mark: CallMark, writes: readonly Sql[]): Work<number | Holders | undefined> {
    const { jobs } = claims;
    const isUnique = jobs.some(({ unique }) => unique);
    if (mark.unheard.length > 0 || isUnique) {
      return (yield* this.#pushWithCare(jobs, mark, writes, isUnique)) ?? (yield* heldNow(claims));
    }
    const [held] = yield* packet(writes, claims.hasKeys ? [HELD] : []);
    return held && claims.holdersIn(String(held.rows[0]![0]));
  }

  *#pushWithin(claims: Claims): Work<number | Holders | undefined> {
    const twin = yield* firstTwin(claims.jobs, (job) => this.#twinOf(job));
    if (twin !== undefined) return twin;
    const held = yield* takeEach(this.#names, claims);
    const staying = claims.holders(held, []);
    const jobs = claims.jobs.filter(({ debounce }, place) => debounce === undefined && staying?.has(place) !== true);
    yield* runEach([
      sql`SET @onqueue_now = ${this.#names.now()}, @onqueue_held = ''`,
      ...this.#adding(
        claims.jobs,
        (queue) => (jobs.some((job) => job.queue === queue) ? insertJobs(this.#names, queue, jobs) : []),
        pushDebounced(this.#names, claims.jobs),
      ),
    ]);
    return yield* heldNow(claims, held);
  }

  /**
   * Whether the batch takes more jobs is found out within the packet too, so a process that stops halfway keeps no row
   * locked.
   */
  *#pushOfBatch(
    batch: string,
    begins: NewBatch | undefined,
    claims: Claims,
    mark: CallMark | undefined,
  ): Work<PushAnswer> {
    const looks = [
      sql`SET @onqueue_now = ${this.#names.now()}, @onqueue_end = NULL, @onqueue_held = ''`,
      ...(begins === undefined ? findEnd(this.#names, batch) : batchBeginning(this.#wording, begins)),
    ];
    if (mark === undefined) return yield* this.#pushOfBatchWithin(batch, claims, looks);
    const writes = [
      ...looks,
      REFUSE,
      ...this.#writes(claims, mark, begins),
      ...join(this.#names, batch, claims.candidates),
    ];
    try {
      return yield* this.#send(claims, mark, writes);
    } catch (error) {
      if (!isTwoRows(error)) throw error;
      return yield* endFound();
    }
  }

  *#pushOfBatchWithin(batch: string, claims: Claims, looks: readonly Sql[]): Work<PushAnswer> {
    yield* runEach(looks);
    const end = yield* endFound();
    if (end !== undefined) return end;
    const held = yield* this.#pushWithin(claims);
    if (typeof held === 'number') return held;
    const added = claims.jobs.filter((_, place) => held?.has(place) !== true);
    const candidates = added.map((job) => ({ job, condition: raw('TRUE') }));
    yield* runEach(join(this.#names, batch, candidates));
    return held;
  }

  #record(mark: CallMark): Sql {
    return recordCall(this.#names, mark, this.#names.now(), {
      settled: raw('NULL'),
      lease: raw('NULL'),
      condition: raw('TRUE'),
    });
  }

  remember(queues: readonly string[]): readonly Sql[] {
    return queues.map((queue) => remember(this.#names, queue));
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
    return exchange(this.#names, this.#wording, asked);
  }

  *renew(tokens: readonly ReservationToken[], lease: Seconds): Work<readonly RenewResult[]> {
    const { jobs } = this.#names;
    const held = heldBy(tokens);
    const [, answer] = yield [
      sql`UPDATE ${jobs} FORCE INDEX (PRIMARY) SET lease_until = ${this.#names.now()} + ${lease} WHERE ${held}`,
      sql`SELECT id, ${raw(FENCE)}, cancelled FROM ${jobs} WHERE ${held}`,
    ];
    return renewResults(tokens, answer!.rows);
  }

  *giveUp(given: readonly TiedReservation[]): Work<void> {
    yield giveUpKeys(this.#names, given);
  }

  *takeBack(given: readonly TiedReservation[]): Work<void> {
    const writes = [sql`SET @onqueue_now = ${this.#names.now()}`, ...takeBackKeys(this.#names, given)];
    yield* packet(writes, [raw('SELECT 1')]);
  }

  /** Writes only if this was not done before and every job that must be unique is. */
  *#pushWithCare(
    jobs: readonly QueuedJob[],
    mark: CallMark,
    writes: readonly Sql[],
    isUnique: boolean,
  ): Work<number | undefined> {
    // If two push the same text at once, the second must see what the first has written.
    if (isUnique) yield* run(sql`SELECT GET_LOCK(CONCAT('onqueue twins ', DATABASE()), ${TWIN_WAIT})`);
    try {
      return yield* transaction(() => this.#pushUnlessDone(jobs, mark, writes));
    } finally {
      if (isUnique) yield* run(raw('DO RELEASE_ALL_LOCKS()'));
    }
  }

  *#pushUnlessDone(jobs: readonly QueuedJob[], mark: CallMark, writes: readonly Sql[]): Work<number | undefined> {
    if (mark.unheard.length > 0) {
      yield* runEach(lockCalls(this.#names, mark));
      if (Number(yield* valueOf(raw('SELECT @onqueue_was_done'))) === 1) {
        yield* run(raw('SET @onqueue_held = @onqueue_before'));
        return undefined;
      }
    }
    const twin = yield* firstTwin(jobs, (job) => this.#twinOf(job));
    if (twin === undefined) yield* runEach(writes);
    return twin;
  }

  /** Selects a delayed job with the same text. For jobs of Laravel's the id has not been read yet. */
  #twinOf({ queue, payload, uuid }: QueuedJob): Sql {
    const bytes = Buffer.from(payload);
    return sql`SELECT id FROM ${this.#names.jobs} WHERE (uuid = ${keyOf(uuid)} OR uuid IS NULL) AND size = ${bytes.length}
      AND queue = ${queue} AND state = ${DELAYED} AND payload = ${bytes} LIMIT 1`;
  }
}

/** Why the batch that `findEnd` has read takes no more jobs. */
function* endFound(): Work<BatchEnd | undefined> {
  const end = yield* valueOf(raw('SELECT @onqueue_end'));
  return end === null ? undefined : (String(end) as BatchEnd);
}

const HELD = raw('SELECT @onqueue_held');

/** What `@onqueue_held` says after the jobs were added. @param held see `Claims.holdersIn` */
function* heldNow(claims: Claims, held?: ReadonlyMap<string, string>): Work<Holders | undefined> {
  return claims.hasKeys ? claims.holdersIn(String(yield* valueOf(HELD)), held) : undefined;
}

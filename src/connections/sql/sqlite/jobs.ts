/** Moves jobs into and out of the tables of a SQLite file. */
import type { Seconds } from '../../../base/clock';
import { MOST_BYTES, MOST_JOBS } from '../../../base/collections';
import type { NewBatch } from '../../batch-store';
import type { RenewResult } from '../../contract';
import { joined } from '../../kit/batch-counts';
import { hasKeys, type CallMark } from '../calls';
import {
  countCrash,
  countTaken,
  DELAYED,
  FENCE,
  HELD_AT,
  READY,
  RESERVED,
  UNHELD,
  followerOf,
  followersOf,
  renewResults,
  COUNTERS,
  jobOf,
  laneColumns,
  runningColumn,
  valuesOf,
  type Wording,
  type Ending,
  type Exchange,
  type Exchanged,
  type JobStatements,
  type Outlook,
  type PushAnswer,
  type QueuedJob,
  type ReservationToken,
  type TakenJob,
  type TiedReservation,
} from '../dialect';
import { beginBatch, changeBatch, changesOf, leaveBatches } from '../batches';
import { addFailed } from '../failed';
import { firstTwin } from '../jobs';
import { outlookOf, outlookStatement, queueOutlook, toMicroseconds, type QueueOutlook } from '../exchange';
import { raw, rowsOf, run, written, type RowId, type Sql, type SqlRow, type SqlValue, type Work } from '../statement';
import { INDEXED_END, INDEXED_LENGTH, TEXT_LENGTH, endOfLine, statementsOf, storable, tailOf } from './schema';
import { UNIQUE_COLUMNS, UniqueKeys, type KeyedJob } from './keys';
import { isWithin, type OwnDatabase } from './engine';
import { SqliteLanes, type OpenLanes } from './lanes';

/** How much one call may still move. */
class Budget {
  jobs: number;
  bytes = MOST_BYTES;
  /** The first job may be of any length, or it would stay for ever. */
  first = true;

  constructor(jobs = MOST_JOBS) {
    this.jobs = Math.min(jobs, MOST_JOBS);
  }

  get left(): boolean {
    return this.jobs > 0 && (this.first || this.bytes > 0);
  }

  /** As values of a statement that moves at most so many jobs. */
  upTo(most: number): readonly number[] {
    return [Math.min(this.jobs, most), this.bytes, this.first ? 1 : 0];
  }

  spend(sizes: readonly number[]): void {
    if (sizes.length > 0) this.first = false;
    this.jobs -= sizes.length;
    for (const size of sizes) this.bytes -= size;
  }
}

export class SqliteJobs implements JobStatements {
  readonly #own: OwnDatabase;
  /** The time by the process's clock: seconds since 1970. All processes that share a file share a machine. */
  readonly #now: () => Seconds;
  readonly #keys: UniqueKeys;
  readonly #lanes: SqliteLanes;
  readonly #wording: Wording;
  readonly #sql: ReturnType<typeof statementsOn>;

  constructor(wording: Wording, lanes: SqliteLanes, now: () => Seconds, own: OwnDatabase) {
    this.#wording = wording;
    this.#now = now;
    this.#own = own;
    this.#keys = new UniqueKeys(wording.tables);
    this.#lanes = lanes;
    this.#sql = statementsOn(wording);
  }

  *push(jobs: readonly QueuedJob[], _mark: CallMark | undefined, begins?: NewBatch): Work<PushAnswer> {
    const now = this.#now();
    const twin = yield* firstTwin(jobs, (job) => this.#findTwin(job, now));
    if (twin !== undefined) return twin;
    const batch = begins?.id ?? jobs[0]?.batch?.id;
    const end = batch === undefined ? undefined : yield* beginBatch(this.#wording, batch, begins);
    if (end !== undefined) return end;
    const keyed = hasKeys(jobs) ? yield* this.#keys.take(jobs, now) : undefined;
    const added = keyed?.added ?? jobs;
    yield* this.#add(added, now);
    if (batch !== undefined) {
      const step = yield* changeBatch(this.#wording, batch, joined(added.map((job) => job.batch)));
      yield* this.#add(step?.followUps.map(followerOf) ?? [], now);
    }
    return keyed?.holders;
  }

  remember(): readonly Sql[] {
    return [];
  }

  isWithin(): Work<boolean> {
    return isWithin(this.#own);
  }

  *exchange({ endings, request, left = [] }: Exchange): Work<Exchanged> {
    const now = this.#now();
    const settled = new Set<RowId>();
    const completed = endings.filter(({ kind }) => kind === 'removed');
    const removals = yield completed.map(({ id, fence }) => this.#sql.to('remove', [id, fence]));
    completed.forEach(({ id }, index) => removals[index]!.written > 0 && settled.add(id));
    for (const ending of endings) {
      if (ending.kind !== 'removed' && (yield* this.#end(ending, now))) settled.add(ending.id);
    }
    const lanes = endings.flatMap(({ id, lane }) => (lane !== undefined && settled.has(id) ? [lane] : []));
    if (lanes.length > 0) yield* this.#lanes.leave(lanes);
    const isFollowed = endings.some(
      (ending) => ending.kind !== 'released' && (ending.next !== undefined || ending.leaves !== undefined),
    );
    const news = isFollowed
      ? yield* this.#goOn(
          endings.filter(({ id }) => settled.has(id)),
          now,
        )
      : [];
    if (request === undefined) {
      // Of the queues left others may take more only if these have a limit.
      for (const queue of left) if ((yield* rowsOf(this.#sql.one('limit', [queue]))).length > 0) news.push(queue);
      return { settled, taken: [], outlook: { nextIn: Infinity }, news };
    }
    const [reclaimed, promoted, taking] = [new Budget(), new Budget(), new Budget(request.limit)];
    const taken: TakenJob[] = [];
    for (const queue of new Set(request.queues)) {
      const { leaseEnd, due, pausedUntil, room: before } = yield* this.#outlookOf(queue);
      if (leaseEnd <= now) yield* this.#keys.retake(tiedOf(yield* this.#move('reclaim', queue, now, reclaimed)), now);
      if (due <= now) yield* this.#lanes.becomeReady(queue, yield* this.#move('promote', queue, now, promoted));
      if (pausedUntil > now) continue;
      // Jobs of silent workers have made room meanwhile.
      const room = before === Infinity ? before : (yield* this.#outlookOf(queue)).room;
      if (room <= 0) continue;
      const rows = yield* this.#move('take', queue, now, taking, room, toMicroseconds(now + request.lease));
      const tied = tiedOf(rows);
      if (tied.length > 0) yield* this.#keys.start(tied);
      // An UPDATE returns its rows in any order.
      const jobs = rows
        .toSorted((a, b) => Number(a[9]) - Number(b[9]))
        .map((row) => ({ ...jobOf(row.slice(0, AS_STORED)), queue }));
      taken.push(...jobs);
    }
    const outlooks = yield* this.#outlooksOf(request.queues);
    const isCancelling = outlooks[0]?.isCancelling;
    return { settled, taken, outlook: outlookOf(outlooks, now), news, isCancelling };
  }

  *idle(queues: readonly string[]): Work<Outlook | undefined> {
    const now = this.#now();
    const outlooks = yield* this.#outlooksOf(queues);
    const isIdle = ({ ready, pausedUntil, room, due, leaseEnd }: QueueOutlook): boolean =>
      (pausedUntil > now || !ready || room <= 0) && due > now && leaseEnd > now;
    return outlooks.every(isIdle) ? outlookOf(outlooks, now) : undefined;
  }

  /** Seconds until a reserve may find something; 0: now. */
  *nextIn(queues: readonly string[]): Work<Seconds> {
    return outlookOf(yield* this.#outlooksOf(queues), this.#now()).nextIn;
  }

  *giveUp(jobs: readonly TiedReservation[]): Work<void> {
    yield jobs.map(({ id, fence }) => this.#keys.giveUp(id, fence));
  }

  *takeBack(jobs: readonly TiedReservation[]): Work<void> {
    yield* this.#keys.retake(
      jobs.map(({ id }) => id),
      this.#now(),
    );
  }

  *renew(tokens: readonly ReservationToken[], lease: Seconds): Work<readonly RenewResult[]> {
    const end = toMicroseconds(this.#now() + lease);
    const results = yield tokens.map(({ id, fence }) => this.#sql.one('renew', [id, fence, end]));
    return renewResults(
      tokens,
      results.flatMap(({ rows }) => rows),
    );
  }

  #findTwin(job: QueuedJob, now: Seconds): Sql | undefined {
    const text = String(job.payload);
    return delayOf(job, now) > 0 ? this.#sql.one('findDelayed', [job.queue, text, text, text]) : undefined;
  }

  /** Pushes what these endings cause: their followers, and what their batches send. Returns the queues of the latter. */
  *#goOn(endings: readonly Ending[], now: Seconds): Work<string[]> {
    yield* this.#add(followersOf(endings), now);
    const sent = yield* leaveBatches(this.#wording, changesOf(endings.flatMap(({ leaves }) => leaves ?? [])));
    yield* this.#add(sent.map(followerOf), now);
    return sent.map(({ queue }) => queue);
  }

  *#add(jobs: readonly KeyedJob[], now: Seconds): Work<void> {
    for (const queue of new Set(jobs.map((job) => job.queue))) {
      yield* run(this.#sql.to('remember', [queue]));
      const ready = jobs.filter((job) => job.lane !== undefined && job.queue === queue && delayOf(job, now) <= 0);
      const come = ready.map(({ lane }) => ({ queue, lane: lane!.key, running: runningColumn(lane!) }));
      const lanes = come.length === 0 ? undefined : yield* this.#lanes.come(come);
      const [tail] = yield* rowsOf(this.#sql.one('tail', [queue]));
      let end = Number(tail![0]);
      yield jobs.flatMap((job) => {
        if (job.queue !== queue) return [];
        const delay = delayOf(job, now);
        return [this.#insert(job, now, delay, delay > 0 ? null : (end += 1), lanes)];
      });
    }
  }

  /** @param place null: it is delayed */
  #insert(job: KeyedJob, now: Seconds, delay: Seconds, place: number | null, lanes: OpenLanes | undefined): Sql {
    const { queue, payload, uuid, counters, keys, lane } = job;
    const entered =
      lane === undefined || place === null ? undefined : this.#lanes.next(lanes!.get(lane.key)!, now, place);
    const [at, line, order] = entered ?? [toMicroseconds(now + Math.max(delay, 0)), place, null];
    const values = [queue, storable(payload), uuid, at, now, line];
    const counts = valuesOf(counters);
    if ((keys ?? lane) !== undefined)
      return this.#sql.to('insertTied', [...values, ...counts, ...(keys ?? NO_KEYS), ...laneColumns(job), order]);
    // Each bound value costs time, and most counters are 0.
    return counts.every((count) => count === 0)
      ? this.#sql.to('insertNew', values)
      : this.#sql.to('insert', [...values, ...counts]);
  }

  /** Returns false if the reservation is no longer valid. */
  *#end(ending: Exclude<Ending, { kind: 'removed' }>, now: Seconds): Work<boolean> {
    const { id, fence } = ending;
    if (ending.kind === 'released') {
      const { queue, counters, front = false } = ending;
      const delay = front ? 0 : delayOf(ending, now);
      const values = [id, fence, ...valuesOf(counters), toMicroseconds(now + Math.max(delay, 0))];
      const release = front
        ? this.#sql.to('giveBack', values)
        : this.#sql.to('release', [...values, delay > 0 ? null : queue]);
      if ((yield* written(release)) === 0) return false;
      if (ending.retakes !== undefined) yield* this.#keys.retake([id], now);
      return true;
    }
    if ((yield* written(this.#sql.to('remove', [id, fence]))) === 0) return false;
    yield* run(addFailed(this.#wording, ending.entry));
    return true;
  }

  /** Moves as many jobs as the budget allows. */
  *#move(
    statement: 'reclaim' | 'promote' | 'take',
    queue: string,
    now: Seconds,
    budget: Budget,
    most = Infinity,
    ...lease: readonly Seconds[]
  ): Work<readonly SqlRow[]> {
    if (!budget.left) return [];
    const rows = yield* rowsOf(this.#sql.to(statement, [queue, now, ...budget.upTo(most), ...lease]));
    budget.spend(rows.map((row) => Number(row.at(-1))));
    return rows;
  }

  *#outlooksOf(queues: readonly string[]): Work<readonly QueueOutlook[]> {
    const outlooks: QueueOutlook[] = [];
    for (const queue of queues) outlooks.push(yield* this.#outlookOf(queue));
    return outlooks;
  }

  *#outlookOf(queue: string): Work<QueueOutlook> {
    const [row = []] = yield* rowsOf(this.#sql.one('outlook', [queue]));
    return queueOutlook(queue, row, HELD_AT);
  }
}

/** How many columns of a job `take` returns before other columns. */
const AS_STORED = 8;

/**
 * The ids of the jobs that hold a key until their start: in the rows of `reclaim` and `take` this comes before place and
 * length.
 */
const tiedOf = (rows: readonly SqlRow[]): readonly SqlValue[] =>
  rows.filter((row) => row.at(-3) === 1).map((row) => row[0]!);

/** Seconds until the job is ready; 0 or less: at once. */
function delayOf({ delay, due }: Pick<QueuedJob, 'delay' | 'due'>, now: Seconds): Seconds {
  return due === undefined ? delay : toMicroseconds(due - now);
}

/** SQLite stores any value in any column. */
const COMPARISON = { larger: 'max', smaller: 'min', number: (column: string) => `CAST(${column} AS INTEGER)` };
/** The values of `UNIQUE_COLUMNS`. */
const NO_KEYS = [null, null, null, null];

function statementsOn(wording: Wording) {
  const { tables } = wording;
  const jobs = tables.jobs.text;
  const end = (which: 'min' | 'max', queue: string): string => endOfLine(jobs, which, queue);
  const tail = (queue: string): string => tailOf(jobs, queue);
  const insert = (columns: string, values: string): string =>
    `INSERT INTO ${jobs} (queue, payload, uuid, available_at, created_at, place${columns}) VALUES (?, ?, ?, ?, ?, ?${values})`;
  const release = (to: string, leaving = ''): string =>
    `UPDATE ${jobs} SET ${UNHELD}, attempts = ?3, crashes = ?4, exceptions = ?5, timeouts = ?6, releases = ?7,
      available_at = ?8, place = ${to}${leaving} WHERE id = ?1 AND ${RESERVED} AND ${FENCE} = ?2`;
  return statementsOf({
    limit: `SELECT 1 FROM ${tables.orders.text} WHERE kind = 'running' AND value = ?`,
    remember: `INSERT INTO ${tables.queues.text} (name) VALUES (?) ON CONFLICT DO NOTHING`,
    insertNew: insert('', ''),
    insert: insert(`, ${COUNTERS}`, ', ?, ?, ?, ?, ?'),
    insertTied: insert(
      `, ${COUNTERS}, ${UNIQUE_COLUMNS}, lane, lane_limit, lane_order`,
      ', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?',
    ),
    findDelayed: `SELECT 1 FROM ${jobs} WHERE queue = ? AND ${DELAYED} AND ${INDEXED_LENGTH} = length(CAST(? AS BLOB))
      AND ${INDEXED_END} = substr(CAST(? AS BLOB), -64) AND CAST(payload AS BLOB) = CAST(? AS BLOB)`,
    tail: `SELECT ${tail('?1')}`,
    outlook: outlookStatement(wording, raw('?1')).text,
    // To the head, ordered by the end of the lease.
    reclaim: `UPDATE ${jobs} SET place = ifnull(${end('min', '?1')}, 1) - 1 - ?3 + n, ${UNHELD}, ${countCrash(COMPARISON)}
      FROM (${within(jobs, `${RESERVED} AND lease_until <= ?2`, 'lease_until, place')}) WHERE id = chosen
      RETURNING id, start_key IS NOT NULL, place, ${TEXT_LENGTH}`,
    // To the tail, ordered by due time.
    promote: `UPDATE ${jobs} SET place = ${tail('?1')} + n
      FROM (${within(jobs, `${DELAYED} AND available_at <= ?2`, 'available_at, chosen')}) WHERE id = chosen
      RETURNING id, place, CAST(lane AS BLOB), lane_limit, lane_order, ${TEXT_LENGTH}`,
    take: `UPDATE ${jobs} SET reserved_at = ?2, lease_until = ?6, ${countTaken(COMPARISON)}
      FROM (${within(jobs, READY, 'place')}) WHERE id = chosen
      RETURNING id, CAST(payload AS BLOB), ${COUNTERS}, cancelled, start_key IS NOT NULL, place, ${TEXT_LENGTH}`,
    remove: `DELETE FROM ${jobs} WHERE id = ? AND ${RESERVED} AND ${FENCE} = ?`,
    // In an ordered lane a delayed job keeps its place.
    release: release(
      `CASE WHEN ?9 IS NOT NULL THEN ${tail('?9')} + 1 END`,
      ', lane_order = iif(?9 IS NULL AND lane_limit > 0, NULL, lane_order)',
    ),
    giveBack: release('place'),
    renew: `UPDATE ${jobs} SET lease_until = ?3 WHERE id = ?1 AND ${RESERVED} AND ${FENCE} = ?2
      RETURNING id, ${FENCE}, cancelled`,
  });
}

/**
 * Selects the first jobs in a state, numbered, as many as the bounds allow.
 *
 * ?1 queue, ?2 now, ?3 jobs, ?4 bytes, ?5 whether the first job may be of any length.
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

/**
 * Ends reservations and hands out jobs, in one transaction and one round trip.
 *
 * Rows are found by the index of turns, and then changed by their ids. `STRAIGHT_JOIN` enforces this: on a short table
 * servers prefer to read, and lock, all rows.
 */
import { MOST_BYTES, MOST_JOBS } from '../../../base/collections';
import type { Wanted } from '../../contract';
import type { CallMark } from '../calls';
import {
  lanesIn,
  COUNTERS,
  followersOf,
  jobOf,
  type Ending,
  type Exchange,
  type Exchanged,
  type TakenJob,
  type Wording,
} from '../dialect';
import { addFailed } from '../failed';
import { FOR_EVER, outlookOf, outlookStatement, queueOutlook } from '../exchange';
import { raw, sql, type Sql, type SqlResult, type SqlRow, type Work } from '../statement';
import { leave } from './batches';
import { around } from './lanes';
import {
  lockCalls,
  recordCall,
  insertFollowers,
  availableAt,
  COUNT_CRASH,
  COUNT_TAKEN,
  DELAYED,
  dueOf,
  findTail,
  heldBy,
  HELD_AT,
  MOST_PLACE,
  READY,
  RESERVED,
  UNHELD,
  type MysqlNames,
} from './rows';
import { packet } from './pool';
import { retakeKeys } from './keys';

export function* exchange(
  names: MysqlNames,
  wording: Wording,
  { endings, request, left, mark }: Exchange,
): Work<Exchanged> {
  const isRetry = mark.unheard.length > 0;
  const taken = request === undefined ? raw('FALSE') : sql`@onqueue_left < ${mostJobs(request)}`;
  const answer = {
    settled: raw('@onqueue_settled'),
    lease: request === undefined ? raw('NULL') : sql`IF(${taken}, @onqueue_lease, NULL)`,
    // An idle worker writes nothing.
    condition: endings.length > 0 || isRetry ? raw('TRUE') : taken,
  };
  const writes = [
    sql`SET @onqueue_now = ${names.now()}, @onqueue_before = NULL`,
    ...(isRetry ? [...lockCalls(names, mark), giveBack(names, mark)] : []),
    ...settle(names, wording, endings),
    ...(request === undefined ? [] : take(names, request, mark)),
    recordCall(names, mark, raw('@onqueue_now'), answer),
  ];
  const isLeaving = endings.some(({ leaves }) => leaves !== undefined);
  const settled = raw(`SELECT @onqueue_settled, @onqueue_now${isLeaving ? ', @onqueue_sent_to' : ''}`);
  const reads = request === undefined ? [settled] : [settled, ...found(names, wording, request, holderOf(mark))];
  return exchanged(yield* packet(writes, reads), request, left);
}

const mostJobs = ({ limit }: Wanted): number => Math.max(Math.min(Math.floor(limit), MOST_JOBS), 0);

/** Marks the jobs that one call takes. Together with the end of their leases it identifies them. */
const holderOf = ({ client, number }: Pick<CallMark, 'client' | 'number'>): string => `${client}:${number}`;

/** Gives back what unanswered calls have taken, without counting an attempt. Their queues are no longer known. */
function giveBack({ jobs, turns, queues }: MysqlNames, { client, unheard }: CallMark): Sql {
  const holders = unheard.map((number) => holderOf({ client, number }));
  return sql`UPDATE (
      SELECT id FROM ${queues} AS known JOIN ${jobs} AS held FORCE INDEX (${turns})
        ON held.queue = known.name AND held.state = ${RESERVED} AND held.turn = @onqueue_lease_before
      WHERE held.holder IN (${holders})
    ) AS taken STRAIGHT_JOIN ${jobs} AS job FORCE INDEX (PRIMARY) ON job.id = taken.id
    SET ${UNHELD}, attempts = GREATEST(attempts - 1, 0), releases = releases + 1`;
}

/**
 * Sets `@onqueue_settled` to the ids of the endings that it writes, plus those in `@onqueue_before`. Only jobs that are
 * still reserved are ended.
 */
function settle(names: MysqlNames, wording: Wording, endings: readonly Ending[]): readonly Sql[] {
  const { jobs } = names;
  const statements = [sql`SET @onqueue_settled = NULL`];
  if (endings.length > 0) {
    // The rows stay locked until the end of the transaction, so they cannot change.
    statements.push(
      sql`SELECT GROUP_CONCAT(id) INTO @onqueue_settled FROM ${jobs} FORCE INDEX (PRIMARY) WHERE ${heldBy(endings)} FOR UPDATE`,
    );
  }
  const gone = endings.filter(({ kind }) => kind !== 'released');
  for (const ending of endings) {
    if (ending.kind === 'failed') {
      const payload = ending.asStored ? raw('payload') : undefined;
      statements.push(addFailed(wording, ending.entry, sql`FROM ${jobs} WHERE ${heldBy([ending])}`, payload));
    }
    if (ending.kind === 'released') statements.push(...release(names, ending));
  }
  if (gone.length > 0) statements.push(sql`DELETE job FROM ${jobs} AS job FORCE INDEX (PRIMARY) WHERE ${heldBy(gone)}`);
  statements.push(...retakeKeys(names, endings));
  const left = endings.flatMap(({ lane }) => lane ?? []);
  const come = lanesIn(followersOf(endings));
  const followers = insertFollowers(names, endings);
  if (left.length + come.length === 0) statements.push(...followers, ...leave(names, endings));
  // The rows of lanes are locked after those of batches.
  else statements.push(...leave(names, endings), ...around(names, followers, come, { left }));
  statements.push(sql`SET @onqueue_settled = CONCAT_WS(',', @onqueue_before, @onqueue_settled)`);
  return statements;
}

function release(names: MysqlNames, ending: Extract<Ending, { kind: 'released' }>): readonly Sql[] {
  const due = dueOf(ending);
  const { attempts, crashes, exceptions, timeouts, releases } = ending.counters;
  const goesLast = due === undefined && ending.front !== true;
  const ready = sql`due_at = NULL, place = ${raw(goesLast ? '@onqueue_tail + 1' : 'place')}`;
  // In an ordered lane a delayed job keeps its place.
  const waits = sql`due_at = ${due ?? null}, place = NULL, lane_order = IF(lane_limit > 0, NULL, lane_order)`;
  const line = due === undefined ? ready : waits;
  const update = sql`UPDATE ${names.jobs} SET ${UNHELD}, available_at = ${availableAt(due)}, ${line},
      attempts = ${attempts}, crashes = ${crashes}, exceptions = ${exceptions}, timeouts = ${timeouts}, releases = ${releases}
    WHERE ${heldBy([ending])}`;
  return goesLast ? [findTail(names, ending.queue), update] : [update];
}

/**
 * Moves jobs with ended leases and due jobs into the line, then takes the first ones. Leaves the end of the new leases in
 * `@onqueue_lease`, and how many more could have been taken in `@onqueue_left`.
 */
function take(names: MysqlNames, request: Wanted, mark: CallMark): readonly Sql[] {
  const most = mostJobs(request);
  const queues = [...new Set(request.queues)];
  // Of limited queues one call takes jobs at a time, and counts what those before it have taken. Their limits are locked in the
  // order of the key, so that two calls do not deadlock.
  const limits = sql`(SELECT GROUP_CONCAT(amount) FROM ${names.orders} WHERE kind = 'running' AND value IN (${queues}) FOR UPDATE)`;
  return [
    sql`SET @onqueue_lease = CAST(@onqueue_now + ${request.lease} AS DECIMAL(16, 6)), @onqueue_left = ${most}, @onqueue_bytes = ${MOST_BYTES},
      @onqueue_limits = ${limits}`,
    ...queues.flatMap((queue, index) => [
      ...moveUp(names, queue),
      takeFrom(names, queue, most, mark),
      // ROW_COUNT() is -1 if the server, while replying, found the client gone, and the transaction still goes on (MariaDB
      // 10.11). If that counted as "none", the lease would not be recorded, and no call could give back what this one took.
      sql`SET @onqueue_left = @onqueue_left - ABS(ROW_COUNT())`,
      ...(index + 1 < queues.length ? [spend(names, queue, mark)] : []),
    ]),
  ];
}

/**
 * Moves jobs whose lease has ended to the head, ordered by the end of the lease, and delayed jobs that are due to the tail,
 * ordered by due time.
 *
 * They are found without locks. A locking read of a range would also lock the row after it, which somebody else may hold or
 * be about to take.
 *
 * Sets `@onqueue_room` to how many jobs could be taken if none were moved back; NULL: the queue has no limit. The last statement
 * moves jobs back, and `takeFrom` adds their number. It counts nothing itself: an UPDATE locks what it reads, and those who end
 * these jobs may wait for it.
 */
function moveUp({ jobs, turns, orders }: MysqlNames, queue: string): readonly Sql[] {
  const line = sql`${jobs} FORCE INDEX (${turns}) WHERE queue = ${queue}`;
  // Jobs with lanes enter them later.
  const isIn = raw('(lane IS NULL OR lane_order = 0)');
  const passed = (
    state: number,
  ): Sql => sql`(SELECT COALESCE(CONCAT('[', GROUP_CONCAT(id ORDER BY turn, place, id), ']'), '[]')
    FROM (SELECT id, turn, place FROM ${line} AND state = ${state} AND turn <= @onqueue_now AND ${state === DELAYED ? isIn : raw('TRUE')}
      ORDER BY turn, id LIMIT ${MOST_JOBS}) AS passed)`;
  return [
    sql`SELECT ${passed(RESERVED)}, ${passed(DELAYED)},
      (SELECT COALESCE(MIN(turn), 1) FROM ${line} AND state = ${READY} AND turn >= -${MOST_PLACE}),
      (SELECT COALESCE(MAX(turn), 0) FROM ${line} AND state = ${READY} AND turn <= ${MOST_PLACE}),
      (SELECT amount - (SELECT COUNT(*) FROM ${line} AND state = ${RESERVED}) FROM ${orders} WHERE kind = 'running' AND value = ${queue})
      INTO @onqueue_ended, @onqueue_due, @onqueue_head, @onqueue_tail, @onqueue_room`,
    sql`UPDATE ${listed(raw('@onqueue_due'))} STRAIGHT_JOIN ${jobs} AS job FORCE INDEX (PRIMARY) ON job.id = list.id
      SET place = @onqueue_tail + n WHERE state = ${DELAYED} AND turn <= @onqueue_now`,
    sql`UPDATE ${listed(raw('@onqueue_ended'))} STRAIGHT_JOIN ${jobs} AS job FORCE INDEX (PRIMARY) ON job.id = list.id
      SET place = @onqueue_head - ${MOST_JOBS + 1} + n, ${UNHELD}, ${COUNT_CRASH}
      WHERE state = ${RESERVED} AND turn <= @onqueue_now`,
  ];
}

/** Turns a JSON list of ids into numbered rows. */
const listed = (ids: Sql): Sql =>
  sql`JSON_TABLE(${ids}, '$[*]' COLUMNS (n FOR ORDINALITY, id BIGINT PATH '$')) AS list`;

const UP_TO_HERE = raw('OVER (ORDER BY turn, id ROWS UNBOUNDED PRECEDING)');

/** Takes the first jobs in line that nobody else is taking, as many as the bounds allow. */
function takeFrom({ jobs, turns, orders }: MysqlNames, queue: string, most: number, mark: CallMark): Sql {
  // The first job of a call may be of any length.
  const isFirst = sql`(n = 1 AND @onqueue_left = ${most})`;
  return sql`UPDATE (
      SELECT id FROM (
        SELECT id, ROW_NUMBER() OVER (ORDER BY turn, id) AS n, SUM(size) ${UP_TO_HERE} AS total
        FROM (
          SELECT id, turn, size FROM ${jobs} FORCE INDEX (${turns}) WHERE queue = ${queue} AND state = ${READY}
          ORDER BY turn, id LIMIT ${most} FOR UPDATE SKIP LOCKED
        ) AS found
      ) AS line
      WHERE n <= @onqueue_left AND (total <= @onqueue_bytes OR ${isFirst})
        AND n <= COALESCE(@onqueue_room + GREATEST(ROW_COUNT(), 0), n)
        AND NOT EXISTS (
          SELECT 1 FROM ${orders} WHERE kind = 'pause' AND value = ${queue} AND COALESCE(ends_at, ${FOR_EVER}) > @onqueue_now)
    ) AS chosen STRAIGHT_JOIN ${jobs} AS job FORCE INDEX (PRIMARY) ON job.id = chosen.id
    SET reserved_at = FLOOR(@onqueue_now), lease_until = @onqueue_lease, holder = ${holderOf(mark)}, ${COUNT_TAKEN}`;
}

/** Subtracts the size of what was taken from the budget, before the next queue. */
function spend({ jobs, turns }: MysqlNames, queue: string, mark: CallMark): Sql {
  return sql`SELECT @onqueue_bytes - COALESCE(SUM(size), 0) INTO @onqueue_bytes
    FROM ${jobs} FORCE INDEX (${turns})
    WHERE queue = ${queue} AND state = ${RESERVED} AND turn = @onqueue_lease AND holder = ${holderOf(mark)}`;
}

/** Selects what was taken, by the end of the leases, which is in the index; and for each queue what else there is. */
function found({ jobs, turns }: MysqlNames, wording: Wording, { queues }: Wanted, holder: string): readonly Sql[] {
  return [
    sql`SELECT id, payload, ${raw(COUNTERS)}, cancelled, NULL, queue, place FROM ${jobs} FORCE INDEX (${turns})
      WHERE queue IN (${queues}) AND state = ${RESERVED} AND turn = @onqueue_lease AND holder = ${holder}`,
    ...queues.map((queue) => outlookStatement(wording, queue)),
  ];
}

function exchanged(results: readonly SqlResult[], request: Wanted | undefined, left: Exchange['left'] = []): Exchanged {
  const [settledIds = null, now, queuesSentTo = null] = results[0]!.rows[0]!;
  const sentTo =
    queuesSentTo === null
      ? []
      : String(queuesSentTo)
          .split(',')
          .map((digits) => Buffer.from(digits, 'hex').toString());
  const settled = new Set(String(settledIds ?? '').split(','));
  const news = [...sentTo, ...left];
  if (request === undefined) return { settled, taken: [], outlook: { nextIn: Infinity }, news };
  const { queues } = request;
  const outlooks = results.slice(2).map(({ rows }, index) => queueOutlook(queues[index]!, rows[0]!, HELD_AT));
  const isCancelling = outlooks[0]?.isCancelling;
  const late = outlooks.filter(({ due }) => due <= Number(now)).map(({ queue }) => queue);
  return {
    settled,
    taken: inOrder(results[1]!.rows, queues),
    outlook: { ...outlookOf(outlooks, Number(now)), ...(late.length > 0 && { late }) },
    news,
    isCancelling,
  };
}

/** The rows come in no particular order. */
function inOrder(rows: readonly SqlRow[], queues: readonly string[]): readonly TakenJob[] {
  const jobs = rows.map((row) => {
    const queue = String(row[9]);
    return { job: { ...jobOf(row), queue }, line: queues.indexOf(queue), place: Number(row[10]) };
  });
  return jobs
    .toSorted((a, b) => a.line - b.line || a.place - b.place || Number(BigInt(a.job.id) - BigInt(b.job.id)))
    .map(({ job }) => job);
}

/** Ends reservations and hands out jobs: one transaction, and one round trip. */
import type { ReserveRequest } from '../../contract';
import type { Exchange, Exchanged, TakenJob } from '../dialect';
import { jobOf } from '../job-row';
import { lockCalls, recordCall } from './call-records';
import { DELAYED, FOR_EVER, JOB, PAUSED_UNTIL, READY, RESERVED } from './job-rows';
import type { MysqlNames } from './mysql-names';
import { giveBack, holderOf, mostJobs, take } from './reserving';
import { settle } from './settling';
import { raw, type Sql, type SqlResult, type SqlRow, sql, type Work } from '../statement';

export function* exchange(names: MysqlNames, { endings, request, mark }: Exchange, now: Sql): Work<Exchanged> {
  const isRetry = mark.unheard.length > 0;
  const taken = request === undefined ? raw('FALSE') : sql`@onqueue_left < ${mostJobs(request)}`;
  const answer = {
    settled: raw('@onqueue_settled'),
    lease: request === undefined ? raw('NULL') : sql`IF(${taken}, @onqueue_lease, NULL)`,
    // An idle worker writes nothing.
    condition: endings.length > 0 || isRetry ? raw('TRUE') : taken,
  };
  const writes = [
    sql`SET @onqueue_now = ${now}, @onqueue_before = NULL`,
    ...(isRetry ? [...lockCalls(names, mark), giveBack(names, mark)] : []),
    ...settle(names, endings),
    ...(request === undefined ? [] : take(names, request, mark)),
    recordCall(names, mark, raw('@onqueue_now'), answer),
  ];
  const settled = sql`SELECT @onqueue_settled, @onqueue_now`;
  const reads =
    request === undefined ? [settled] : [settled, takenBy(names, request, holderOf(mark)), ...outlooks(names, request)];
  const results = (yield { writes, reads }).slice(writes.length);
  return exchanged(results, request);
}

/** Found by the end of their leases, which is in the index. */
function takenBy({ jobs, turns }: MysqlNames, { queues }: ReserveRequest, holder: string): Sql {
  return sql`SELECT ${JOB}, NULL, queue, place FROM ${jobs} FORCE INDEX (${turns})
    WHERE queue IN (${queues}) AND state = ${RESERVED} AND turn = @onqueue_lease AND holder = ${holder}`;
}

/** The last restart, and for each queue: seconds until its pause ends, whether one is in line, seconds until a job is due, until a lease ends. */
function outlooks({ jobs, turns, orders }: MysqlNames, { queues }: ReserveRequest): readonly Sql[] {
  const of = queues.map((queue) => {
    const line = sql`FROM ${jobs} FORCE INDEX (${turns}) WHERE queue = ${queue}`;
    return sql`(SELECT
      (SELECT ${PAUSED_UNTIL} FROM ${orders} WHERE kind = 'pause' AND value = ${queue} AND ${PAUSED_UNTIL} > @onqueue_now) - @onqueue_now,
      EXISTS (SELECT 1 ${line} AND state = ${READY}),
      (SELECT MIN(turn) ${line} AND state = ${DELAYED}) - @onqueue_now,
      (SELECT MIN(turn) ${line} AND state = ${RESERVED}) - @onqueue_now)`;
  });
  return [sql`SELECT MAX(value) FROM ${orders} WHERE kind = 'restart'`, ...of];
}

interface Outlook {
  readonly queue: string;
  readonly paused: boolean;
  /** Seconds until something can be had; 0: now. */
  readonly nextIn: number;
}

function exchanged(results: readonly SqlResult[], request: ReserveRequest | undefined): Exchanged {
  const [[settledIds = null, time = null] = [], ...rest] = results.map(({ rows }) => rows[0] ?? []);
  const settled = new Set(
    String(settledIds ?? '')
      .split(',')
      .map(Number),
  );
  if (request === undefined) return { settled, taken: [], outlook: { nextIn: Infinity } };
  const taken = inOrder(results[1]!.rows, request.queues);
  const restart = rest[1]?.[0] ?? null;
  const lines = rest.slice(2).map((row, index) => outlookOf(row, request.queues[index]!));
  const paused = lines.filter((line) => line.paused).map(({ queue }) => queue);
  return {
    settled,
    taken,
    outlook: {
      nextIn: Math.min(...lines.map(({ nextIn }) => nextIn), Infinity),
      ...(time !== null && { now: Number(time) * 1000 }),
      ...(paused.length > 0 && { paused }),
      ...(restart !== null && { restart: String(restart) }),
    },
  };
}

/** The rows come in no order. */
function inOrder(rows: readonly SqlRow[], queues: readonly string[]): readonly TakenJob[] {
  const jobs = rows.map((row) => {
    const queue = String(row[9]);
    return { ...jobOf(row), queue, line: queues.indexOf(queue), place: Number(row[10]) };
  });
  const ordered = jobs.toSorted((a, b) => a.line - b.line || a.place - b.place || a.id - b.id);
  return ordered.map(({ line: _line, place: _place, ...job }) => job);
}

function outlookOf([pause = null, ready, due = null, leaseEnd = null]: SqlRow, queue: string): Outlook {
  const seconds = (value: SqlRow[number]): number => (value === null ? Infinity : Math.max(Number(value), 0));
  if (pause !== null) return { queue, paused: true, nextIn: Number(pause) > FOR_EVER / 2 ? Infinity : Number(pause) };
  return {
    queue,
    paused: false,
    nextIn: Number(ready) === 0 ? Math.min(seconds(due), seconds(leaseEnd)) : 0,
  };
}

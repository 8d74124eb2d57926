/**
 * How jobs are handed out: leases that have ended and jobs that are due first, then the first in line.
 *
 * Rows are found by the index of turns, and then changed by their ids. `STRAIGHT_JOIN` enforces this: on a short table a server
 * prefers to read, and lock, all rows.
 */
import type { ReserveRequest } from '../../contract';
import { MOST_BYTES, MOST_JOBS } from '../../../base/pages';
import type { CallMark } from '../call-marks';
import { DELAYED, MOST_PLACE, OTHER_COUNTERS, PAUSED_UNTIL, READY, RESERVED, sane } from './job-rows';
import type { MysqlNames } from './mysql-names';
import { raw, type Sql, sql } from '../statement';

export const mostJobs = ({ limit }: ReserveRequest): number => Math.max(Math.min(Math.floor(limit), MOST_JOBS), 0);

/** Stands in the jobs that one call takes. With the end of their leases it tells them from all others. */
export const holderOf = ({ client, number }: Pick<CallMark, 'client' | 'number'>): string => `${client}:${number}`;

/** Gives back at no cost what calls without an answer have taken. Their queues are not known any more. */
export function giveBack({ jobs, turns, queues }: MysqlNames, { client, unheard }: CallMark): Sql {
  const holders = unheard.map((number) => holderOf({ client, number }));
  return sql`UPDATE (
      SELECT id FROM ${queues} AS known JOIN ${jobs} AS held FORCE INDEX (${turns})
        ON held.queue = known.name AND held.state = ${RESERVED} AND held.turn = @onqueue_lease_before
      WHERE held.holder IN (${holders})
    ) AS taken STRAIGHT_JOIN ${jobs} AS job FORCE INDEX (PRIMARY) ON job.id = taken.id
    SET reserved_at = NULL, lease_until = NULL, holder = NULL, attempts = GREATEST(attempts - 1, 0), releases = releases + 1`;
}

/** Leaves the end of the leases in `@onqueue_lease`, and in `@onqueue_left` what could still have been taken. */
export function take(names: MysqlNames, request: ReserveRequest, mark: CallMark): readonly Sql[] {
  const most = mostJobs(request);
  const queues = [...new Set(request.queues)];
  return [
    sql`SET @onqueue_lease = CAST(@onqueue_now + ${request.lease} AS DECIMAL(16, 6)), @onqueue_left = ${most}, @onqueue_bytes = ${MOST_BYTES}`,
    ...queues.flatMap((queue, index) => [
      ...moveUp(names, queue),
      takeFrom(names, queue, most, mark),
      // -1, not a number of rows, where its reply found the client gone, and the transaction goes on all the same (MariaDB
      // 10.11). Read as "none", the lease would not be recorded, and no call could give back what this one took.
      sql`SET @onqueue_left = @onqueue_left - ABS(ROW_COUNT())`,
      ...(index + 1 < queues.length ? [spend(names, queue, mark)] : []),
    ]),
  ];
}

/**
 * Jobs whose lease has ended go to the head, in the order of the ends; then delayed jobs that are due to the tail, in the
 * order of their moments.
 *
 * They are found without locks. A locking read of a range would also lock the row behind it, which somebody else may hold, or
 * be about to take.
 */
function moveUp({ jobs, turns }: MysqlNames, queue: string): readonly Sql[] {
  const line = sql`${jobs} FORCE INDEX (${turns}) WHERE queue = ${queue}`;
  const passed = (
    state: number,
  ): Sql => sql`(SELECT COALESCE(CONCAT('[', GROUP_CONCAT(id ORDER BY turn, place, id), ']'), '[]')
    FROM (SELECT id, turn, place FROM ${line} AND state = ${state} AND turn <= @onqueue_now ORDER BY turn, id LIMIT ${MOST_JOBS}) AS passed)`;
  return [
    sql`SELECT ${passed(RESERVED)}, ${passed(DELAYED)},
      (SELECT COALESCE(MIN(turn), 1) FROM ${line} AND state = ${READY} AND turn >= -${MOST_PLACE}),
      (SELECT COALESCE(MAX(turn), 0) FROM ${line} AND state = ${READY} AND turn <= ${MOST_PLACE})
      INTO @onqueue_ended, @onqueue_due, @onqueue_head, @onqueue_tail`,
    sql`UPDATE ${listed(raw('@onqueue_ended'))} STRAIGHT_JOIN ${jobs} AS job FORCE INDEX (PRIMARY) ON job.id = list.id
      SET place = @onqueue_head - ${MOST_JOBS + 1} + n, reserved_at = NULL, lease_until = NULL, holder = NULL,
        attempts = GREATEST(${sane('attempts')} - 1, 0), crashes = ${sane('crashes')} + 1
      WHERE state = ${RESERVED} AND turn <= @onqueue_now`,
    sql`UPDATE ${listed(raw('@onqueue_due'))} STRAIGHT_JOIN ${jobs} AS job FORCE INDEX (PRIMARY) ON job.id = list.id
      SET place = @onqueue_tail + n WHERE state = ${DELAYED} AND turn <= @onqueue_now`,
  ];
}

/** A JSON text of ids as rows, each with its number. */
const listed = (ids: Sql): Sql =>
  sql`JSON_TABLE(${ids}, '$[*]' COLUMNS (n FOR ORDINALITY, id BIGINT PATH '$')) AS list`;

const UP_TO_HERE = raw('OVER (ORDER BY turn, id ROWS UNBOUNDED PRECEDING)');

/** Takes the first in line that nobody else is taking, as many as the bounds allow. */
function takeFrom({ jobs, turns, orders }: MysqlNames, queue: string, most: number, mark: CallMark): Sql {
  // However long it is.
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
        AND NOT EXISTS (SELECT 1 FROM ${orders} WHERE kind = 'pause' AND value = ${queue} AND ${PAUSED_UNTIL} > @onqueue_now)
    ) AS chosen STRAIGHT_JOIN ${jobs} AS job FORCE INDEX (PRIMARY) ON job.id = chosen.id
    SET reserved_at = FLOOR(@onqueue_now), lease_until = @onqueue_lease, holder = ${holderOf(mark)},
      attempts = ${sane('attempts')} + 1, ${OTHER_COUNTERS}`;
}

/** Subtracts what was taken before the next queue is looked at. */
function spend({ jobs, turns }: MysqlNames, queue: string, mark: CallMark): Sql {
  return sql`SELECT @onqueue_bytes - COALESCE(SUM(size), 0) INTO @onqueue_bytes
    FROM ${jobs} FORCE INDEX (${turns})
    WHERE queue = ${queue} AND state = ${RESERVED} AND turn = @onqueue_lease AND holder = ${holderOf(mark)}`;
}

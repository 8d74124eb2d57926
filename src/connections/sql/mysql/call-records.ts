/**
 * What the server keeps of the last call of each client, so that one whose answer was lost is neither repeated nor
 * forgotten. See `CallMark`.
 *
 * A statement that was sent and given up may still be on its way. It comes to nothing when it arrives: the record of a
 * later call refuses that of an earlier one, and its transaction with it.
 */
import type { CallMark } from '../call-marks';
import type { MysqlNames } from './mysql-names';
import { type Sql, sql } from '../statement';

/** A call that comes too late makes this negative. The column is unsigned, so its statement fails. */
const LATER = sql`number + (VALUES(number) - number)`;

/** Keeps earlier calls of the client out from here on, and leaves what they did in variables. */
export function lockCalls({ calls }: MysqlNames, { client, unheard }: CallMark): readonly Sql[] {
  return [
    sql`INSERT IGNORE INTO ${calls} (client, number, called_at) VALUES (${client}, 0, 0)`,
    // The only condition is the client: a row that does not meet all conditions would not stay locked.
    sql`SELECT number IN (${unheard}), IF(number IN (${unheard}), settled, NULL), IF(number IN (${unheard}), lease_until, NULL)
      INTO @onqueue_was_done, @onqueue_before, @onqueue_lease_before
      FROM ${calls} WHERE client = ${client} FOR UPDATE`,
  ];
}

export interface Answer {
  /** The ids of jobs, with commas between them, or NULL. Of a push, who holds the keys of those that stay out: see `recordHeld`. */
  readonly settled: Sql;
  /** When the leases end that were handed out, or NULL: the jobs are found by it. */
  readonly lease: Sql;
  /** Whether there is anything to record. */
  readonly condition: Sql;
}

/** @param now the moment of the call */
export function recordCall({ calls }: MysqlNames, { client, number }: CallMark, now: Sql, answer: Answer): Sql {
  return sql`INSERT INTO ${calls} (client, number, called_at, settled, lease_until)
    SELECT ${client}, ${number}, FLOOR(${now}), ${answer.settled}, ${answer.lease} FROM DUAL WHERE ${answer.condition}
    ON DUPLICATE KEY UPDATE settled = VALUES(settled), lease_until = VALUES(lease_until), called_at = VALUES(called_at),
      number = ${LATER}`;
}

/** Of a push whose call is recorded already: whoever repeats it is told the same. */
export function recordHeld({ calls }: MysqlNames, { client }: CallMark): Sql {
  return sql`UPDATE ${calls} SET settled = @onqueue_held WHERE client = ${client} AND @onqueue_held <> ''`;
}

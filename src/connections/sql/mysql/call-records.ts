/**
 * The server's record of each client's last call, so that a call whose answer got lost is neither repeated nor forgotten.
 * See `CallMark`.
 *
 * A statement that we sent and gave up may still arrive. It has no effect then: the record of a later call makes the earlier
 * one's record fail, and with it its transaction.
 */
import type { CallMark } from '../call-marks';
import type { MysqlNames } from './mysql-names';
import { type Sql, sql } from '../statement';

/** Negative for a call that comes too late. As the column is unsigned, the statement fails. */
const LATER = sql`number + (VALUES(number) - number)`;

/** Keeps the client's earlier calls out from here on, and reads what they did into variables. */
export function lockCalls({ calls }: MysqlNames, { client, unheard }: CallMark): readonly Sql[] {
  return [
    sql`INSERT IGNORE INTO ${calls} (client, number, called_at) VALUES (${client}, 0, 0)`,
    // The client is the only condition: a row that failed another condition would not stay locked.
    sql`SELECT number IN (${unheard}), IF(number IN (${unheard}), settled, NULL), IF(number IN (${unheard}), lease_until, NULL)
      INTO @onqueue_was_done, @onqueue_before, @onqueue_lease_before
      FROM ${calls} WHERE client = ${client} FOR UPDATE`,
  ];
}

export interface Answer {
  /**
   * Ids of jobs separated by commas, or NULL. For a push: who holds the keys of jobs that were not added, see `recordHeld`.
   */
  readonly settled: Sql;
  /** When the new leases end, or NULL. The jobs are found by it. */
  readonly lease: Sql;
  /** Whether there is anything to record. */
  readonly condition: Sql;
}

/** @param now the time of the call */
export function recordCall({ calls }: MysqlNames, { client, number }: CallMark, now: Sql, answer: Answer): Sql {
  return sql`INSERT INTO ${calls} (client, number, called_at, settled, lease_until)
    SELECT ${client}, ${number}, FLOOR(${now}), ${answer.settled}, ${answer.lease} FROM DUAL WHERE ${answer.condition}
    ON DUPLICATE KEY UPDATE settled = VALUES(settled), lease_until = VALUES(lease_until), called_at = VALUES(called_at),
      number = ${LATER}`;
}

/** For a push that is already recorded: who holds the keys, so that a repetition gets the same answer. */
export function recordHeld({ calls }: MysqlNames, { client }: CallMark): Sql {
  return sql`UPDATE ${calls} SET settled = @onqueue_held WHERE client = ${client} AND @onqueue_held <> ''`;
}

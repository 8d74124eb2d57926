/** Ends reservations within a transaction. Each must still be held by the worker that ends it. */
import { uuidv7 } from '../../../payload/uuid';
import type { Ending, NewFailure } from '../dialect';
import { availableAt, dueOf, heldBy } from './job-rows';
import { keyOf, type MysqlNames } from './mysql-names';
import { findTail } from './pushing';
import { raw, type Sql, sql } from '../statement';

type Failed = Extract<Ending, { kind: 'failed' }>;

/** Sets `@onqueue_settled` to the ids of those that it writes, with those in `@onqueue_before`. */
export function settle(names: MysqlNames, endings: readonly Ending[]): readonly Sql[] {
  const { jobs } = names;
  const statements = [sql`SET @onqueue_settled = NULL`];
  if (endings.length > 0) {
    // These rows stay locked until the end of the transaction, so nothing about them changes.
    statements.push(
      sql`SELECT GROUP_CONCAT(id) INTO @onqueue_settled FROM ${jobs} FORCE INDEX (PRIMARY) WHERE ${heldBy(endings)} FOR UPDATE`,
    );
  }
  const gone = endings.filter(({ kind }) => kind !== 'released');
  for (const ending of endings) {
    if (ending.kind === 'failed')
      statements.push(addFailed(names, ending, sql`FROM ${jobs} WHERE ${heldBy([ending])}`));
    if (ending.kind === 'released') statements.push(...release(names, ending));
  }
  if (gone.length > 0) statements.push(sql`DELETE job FROM ${jobs} AS job FORCE INDEX (PRIMARY) WHERE ${heldBy(gone)}`);
  statements.push(sql`SET @onqueue_settled = CONCAT_WS(',', @onqueue_before, @onqueue_settled)`);
  return statements;
}

function release(names: MysqlNames, ending: Extract<Ending, { kind: 'released' }>): readonly Sql[] {
  const due = dueOf(ending);
  const { attempts, crashes, exceptions, timeouts, releases } = ending.counters;
  const goesLast = due === undefined && ending.front !== true;
  const ready = sql`due_at = NULL, place = ${raw(goesLast ? '@onqueue_tail + 1' : 'place')}`;
  const line = due === undefined ? ready : sql`due_at = ${due}, place = NULL`;
  const update = sql`UPDATE ${names.jobs} SET reserved_at = NULL, lease_until = NULL, holder = NULL,
      available_at = ${availableAt(due)}, ${line}, attempts = ${attempts}, crashes = ${crashes},
      exceptions = ${exceptions}, timeouts = ${timeouts}, releases = ${releases}
    WHERE ${heldBy([ending])}`;
  return goesLast ? [findTail(names, ending.queue), update] : [update];
}

/** Adds the entry, beside one of the same id that is there. */
function addFailed({ failed }: MysqlNames, { entry, asStored = false }: Failed, from: Sql): Sql {
  const key = keyOf(entry.id);
  const isKnown = sql`EXISTS (SELECT 1 FROM ${failed} WHERE uuid = ${key})`;
  // Not by REPLACE: of two that fail in one moment, both must be kept.
  return sql`INSERT INTO ${failed} ${row(entry, sql`IF(${isKnown}, ${uuidv7()}, ${key})`, from, asStored)}`;
}

function row(entry: NewFailure, key: Sql, from: Sql, asStored = false): Sql {
  const { connection, queue, exception, name, attempts } = entry;
  const payload = asStored ? raw('payload') : entry.payload;
  return sql`(uuid, connection, queue, payload, exception, failed_at, failed_ms, name, attempts)
    SELECT ${key}, ${[connection, queue, payload, exception]},
      FROM_UNIXTIME(FLOOR(@onqueue_now)), ROUND(@onqueue_now * 1000), ${name}, ${attempts} ${from}`;
}

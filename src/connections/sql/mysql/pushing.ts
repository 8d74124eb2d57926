/** How jobs come into the tables. */
import { invalidQueueName } from '../../../job/errors';
import type { QueuedJob } from '../dialect';
import { availableAt, COUNTERS, dueOf, MOST_PLACE, READY } from './job-rows';
import { keyOf, type MysqlNames } from './mysql-names';
import { type Sql, sql } from '../statement';

/** Characters, as in Laravel's tables. */
const LONGEST_NAME = 255;

/** @throws E_INVALID_QUEUE_NAME the column does not hold it */
export function checkNames(jobs: readonly QueuedJob[]): void {
  for (const { queue } of jobs) {
    if (queue.length > LONGEST_NAME) {
      throw invalidQueueName(queue, 'push', `the tables hold names of ${LONGEST_NAME} characters at most`);
    }
  }
}

/** Only reads where the queue is known already: so no push waits for another one to the same queue. */
export function rememberQueue({ queues }: MysqlNames, queue: string): Sql {
  return sql`INSERT IGNORE INTO ${queues} (name)
    SELECT ${queue} FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM ${queues} WHERE name = ${queue})`;
}

/** Sets `@onqueue_tail` to the last place in line. */
export function findTail({ jobs, turns }: MysqlNames, queue: string): Sql {
  return sql`SELECT COALESCE(MAX(turn), 0) INTO @onqueue_tail FROM ${jobs} FORCE INDEX (${turns})
    WHERE queue = ${queue} AND state = ${READY} AND turn <= ${MOST_PLACE}`;
}

/** One after another, within a transaction. */
export function insertJobs(names: MysqlNames, jobs: readonly QueuedJob[], now: Sql): readonly Sql[] {
  const statements = [sql`SET @onqueue_now = ${now}`];
  for (const queue of new Set(jobs.map((job) => job.queue))) {
    const rows = jobs.filter((job) => job.queue === queue).map(rowOf);
    statements.push(
      findTail(names, queue),
      sql`INSERT INTO ${names.jobs} (queue, payload, uuid, ${COUNTERS}, available_at, created_at, due_at, place) VALUES ${rows}`,
    );
  }
  return statements;
}

function rowOf(job: QueuedJob, index: number): Sql {
  const { queue, payload, uuid, counters } = job;
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const { attempts, crashes, exceptions, timeouts, releases } = counters;
  const due = dueOf(job);
  const values = [queue, bytes, keyOf(uuid), attempts, crashes, exceptions, timeouts, releases];
  const moments = sql`${availableAt(due)}, FLOOR(@onqueue_now)`;
  return due === undefined
    ? sql`(${values}, ${moments}, NULL, @onqueue_tail + ${index + 1})`
    : sql`(${values}, ${moments}, ${due}, NULL)`;
}

/** Finds one that waits as delayed with this very text. A job of Laravel's has no id that was read. */
export function findTwin({ jobs }: MysqlNames, { queue, payload, uuid }: QueuedJob): Sql {
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
  return sql`SELECT id FROM ${jobs} WHERE (uuid = ${keyOf(uuid)} OR uuid IS NULL) AND size = ${bytes.length}
    AND queue = ${queue} AND state = 0 AND payload = ${bytes} LIMIT 1`;
}

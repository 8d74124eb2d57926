/**
 * Pushes debounced jobs on MySQL. The row of a key names the job that waits and until when, so a push need not look at and
 * lock a job only to find that it no longer waits. A worker that runs the job waits for no push.
 *
 * The statements must come after those that set `@onqueue_now` and `@onqueue_held`. For each job that was replaced they
 * append to `@onqueue_held`: `;`, the index of the new job, `:`, and the id of the old one in hexadecimal digits.
 */
import type { DebounceTie } from '../../../payload/ties';
import { FENCE } from '../columns';
import type { QueuedJob } from '../dialect';
import { raw, type Sql, sql } from '../statement';
import { DELAYED, dueOf, LATEST } from './columns';
import { keyOf, type MysqlNames } from './mysql-names';
import { insertJob } from './new-rows';

/** The debounce keys of a call's jobs. Ordered, so that two calls that want the same keys do not deadlock. */
export const debounceKeys = (jobs: readonly QueuedJob[]): readonly string[] =>
  [...new Set(jobs.flatMap(({ debounce }) => debounce?.key ?? []))].toSorted();

/** Locks the keys of those of a call's jobs that are debounced; then each of these in turn replaces the one that waits. */
export function pushDebounced(names: MysqlNames, jobs: readonly QueuedJob[]): readonly Sql[] {
  const keys = debounceKeys(jobs);
  if (keys.length === 0) return [];
  const { uniqueKeys } = names;
  const rows = keys.map((key) => sql`(${Buffer.from(key)}, NULL)`);
  const lock = sql`INSERT INTO ${uniqueKeys} (unique_key, holder) VALUES ${rows}
    ON DUPLICATE KEY UPDATE holder = ${uniqueKeys}.holder`;
  const puts = jobs.map((job, place) => (job.debounce === undefined ? [] : put(names, place, job, job.debounce)));
  return [lock, ...puts.flat()];
}

function put(names: MysqlNames, place: number, job: QueuedJob, { key, longest }: DebounceTie): readonly Sql[] {
  const { jobs, uniqueKeys } = names;
  const isKey = sql`unique_key = ${Buffer.from(key)}`;
  const own = dueOf(job);
  const end = longest === undefined ? raw('NULL') : sql`LEAST(@onqueue_now + ${longest}, ${LATEST})`;
  return [
    raw('SET @onqueue_waiting = NULL, @onqueue_gone = NULL'),
    sql`SELECT job, holder, ends_at INTO @onqueue_waiting, @onqueue_whom, @onqueue_until
      FROM ${uniqueKeys} WHERE ${isKey} AND due_at > @onqueue_now FOR UPDATE`,
    // It may have been cancelled.
    sql`SELECT id INTO @onqueue_gone FROM ${jobs} FORCE INDEX (PRIMARY) WHERE id = @onqueue_waiting AND uuid = @onqueue_whom
      AND queue = ${job.queue} AND state = ${DELAYED} AND ${raw(FENCE)} = 0 AND due_at > @onqueue_now FOR UPDATE`,
    sql`DELETE FROM ${jobs} WHERE id = @onqueue_gone`,
    sql`SET @onqueue_until = IF(@onqueue_gone IS NULL, ${end}, @onqueue_until)`,
    sql`SET @onqueue_held = CONCAT(@onqueue_held,
      IF(@onqueue_gone IS NOT NULL AND @onqueue_whom <> ${keyOf(job.uuid)}, CONCAT(';', ${place}, ':', HEX(@onqueue_whom)), ''))`,
    sql`SET @onqueue_due = LEAST(${own ?? raw('NULL')}, COALESCE(@onqueue_until, ${LATEST}))`,
    ...insertJob(names, job, own && raw('@onqueue_due')),
    sql`UPDATE ${uniqueKeys} SET holder = ${keyOf(job.uuid)}, job = LAST_INSERT_ID(), ends_at = @onqueue_until,
      due_at = @onqueue_due, attempts = 0 WHERE ${isKey}`,
  ];
}

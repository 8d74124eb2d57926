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

interface Debounced {
  readonly place: number;
  readonly job: QueuedJob;
  readonly tie: DebounceTie;
}

export class DebouncedJobs {
  readonly keys: readonly string[];
  readonly #names: MysqlNames;
  readonly #all: readonly Debounced[];

  /** @param jobs all jobs of a call, also those that are not debounced */
  constructor(names: MysqlNames, jobs: readonly QueuedJob[]) {
    this.#names = names;
    this.#all = jobs.flatMap((job, place) => (job.debounce === undefined ? [] : [{ place, job, tie: job.debounce }]));
    // Ordered, so that two calls that want the same keys do not deadlock.
    this.keys = [...new Set(this.#all.map(({ tie }) => tie.key))].toSorted();
  }

  /** Locks the keys; then each job in turn replaces the one that waits. */
  get statements(): readonly Sql[] {
    if (this.#all.length === 0) return [];
    const { uniqueKeys } = this.#names;
    const rows = this.keys.map((key) => sql`(${Buffer.from(key)}, NULL)`);
    const lock = sql`INSERT INTO ${uniqueKeys} (unique_key, holder) VALUES ${rows}
      ON DUPLICATE KEY UPDATE holder = ${uniqueKeys}.holder`;
    return [lock, ...this.#all.flatMap((one) => this.#put(one))];
  }

  #put({ place, job, tie: { key, longest } }: Debounced): readonly Sql[] {
    const { jobs, uniqueKeys } = this.#names;
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
      ...insertJob(this.#names, job, own && raw('@onqueue_due')),
      sql`UPDATE ${uniqueKeys} SET holder = ${keyOf(job.uuid)}, job = LAST_INSERT_ID(), ends_at = @onqueue_until,
        due_at = @onqueue_due, attempts = 0 WHERE ${isKey}`,
    ];
  }
}

/**
 * Debounced jobs on their way into a table of MySQL's. The row of a key names the job that waits, and says until when: so nobody
 * has to look at that job, and lock it, who finds that it waits no more. A worker that runs it waits for no push.
 *
 * The statements stand behind those that set `@onqueue_now` and `@onqueue_held`. That gets `;` and a place, `:` and the id of the
 * job whose place was taken in hexadecimal digits.
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

  /** @param jobs of a call, also others */
  constructor(names: MysqlNames, jobs: readonly QueuedJob[]) {
    this.#names = names;
    this.#all = jobs.flatMap((job, place) => (job.debounce === undefined ? [] : [{ place, job, tie: job.debounce }]));
    // In their order: of two that want the same ones, neither has what the other waits for.
    this.keys = [...new Set(this.#all.map(({ tie }) => tie.key))].toSorted();
  }

  /** Locks the keys, and has each job take its place, in their order. */
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

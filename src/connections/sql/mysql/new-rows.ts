/** Inserts jobs on MySQL. The statements must come in a packet after one that sets `@onqueue_now`. */
import { invalidQueueName } from '../../../job/errors';
import { type Ending, followersOf, type QueuedJob } from '../dialect';
import { COUNTERS, valuesOf } from '../job-row';
import { numeral, raw, type Sql, sql, type SqlPart } from '../statement';
import type { Candidate } from './claims';
import { availableAt, dueOf, findTail } from './columns';
import { keyOf, type MysqlNames } from './mysql-names';

/** The length of a queue's name in characters, as in Laravel's tables. */
const LONGEST_NAME = 255;

const COLUMNS = raw(`queue, payload, uuid, ${COUNTERS}, available_at, created_at, due_at, place`);

/**
 * The queues of the jobs, sorted, so that pushes that remember several new names do not deadlock.
 * @throws E_INVALID_QUEUE_NAME the name is too long for the column
 */
export function queuesOf(jobs: readonly { readonly queue: string }[]): readonly string[] {
  const queues = [...new Set(jobs.map(({ queue }) => queue))].toSorted();
  const long = queues.find((queue) => queue.length > LONGEST_NAME);
  if (long === undefined) return queues;
  throw invalidQueueName(long, 'push', `the tables hold names of up to ${LONGEST_NAME} characters`);
}

/** Only reads if the queue is already known, so pushes to one queue do not wait for each other. */
export function remember({ queues }: MysqlNames, queue: string, condition = raw('TRUE')): Sql {
  return sql`INSERT IGNORE INTO ${queues} (name)
    SELECT ${queue} FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM ${queues} WHERE name = ${queue}) AND ${condition}`;
}

/** Adds the jobs of a queue at its tail. */
export function insertJobs(names: MysqlNames, queue: string, jobs: readonly QueuedJob[]): readonly Sql[] {
  const rows = jobs.filter((job) => job.queue === queue).map((job, index) => sql`(${rowOf(job, index)})`);
  return [findTail(names, queue), sql`INSERT INTO ${names.jobs} (${COLUMNS}) VALUES ${rows}`];
}

/** Adds the jobs of a queue whose conditions hold at its tail. */
export function insertCandidates(names: MysqlNames, queue: string, candidates: readonly Candidate[]): readonly Sql[] {
  const inserts = candidates
    .filter(({ job }) => job.queue === queue)
    .map(
      ({ job, condition }, index) =>
        sql`INSERT INTO ${names.jobs} (${COLUMNS}) SELECT ${rowOf(job, index)} FROM DUAL WHERE ${condition}`,
    );
  return [findTail(names, queue), ...inserts];
}

/** Adds a job, which is ready at once unless `due` is given. */
export function insertJob(names: MysqlNames, job: QueuedJob, due: Sql | undefined): readonly Sql[] {
  const insert = sql`INSERT INTO ${names.jobs} (${COLUMNS}) VALUES (${rowOf(job, 0, due)})`;
  return due === undefined ? [findTail(names, job.queue), insert] : [insert];
}

/** Adds the followers of the endings whose ids are in `@onqueue_settled`. */
export function insertFollowers(names: MysqlNames, endings: readonly Ending[]): readonly Sql[] {
  const isSettled = ({ id }: Ending): Sql => sql`FIND_IN_SET(${numeral(id)}, @onqueue_settled) > 0`;
  return queuesOf(followersOf(endings)).flatMap((queue) => {
    const followed = endings.flatMap((ending) => {
      const jobs = followersOf([ending]).filter((job) => job.queue === queue);
      return jobs.length === 0 ? [] : [{ condition: isSettled(ending), jobs }];
    });
    const candidates = followed.flatMap(({ condition, jobs }) => jobs.map((job) => ({ job, condition })));
    const conditions = followed.map(({ condition }) => condition);
    return [remember(names, queue, sql`TRUE IN (${conditions})`), ...insertCandidates(names, queue, candidates)];
  });
}

function rowOf(job: QueuedJob, index: number, due = dueOf(job)): readonly SqlPart[] {
  const { queue, payload, uuid, counters } = job;
  const place = sql`@onqueue_tail + ${index + 1}`;
  const moments = [availableAt(due), raw('FLOOR(@onqueue_now)'), due ?? raw('NULL')];
  return [
    queue,
    Buffer.from(payload),
    keyOf(uuid),
    ...valuesOf(counters),
    ...moments,
    due === undefined ? place : null,
  ];
}

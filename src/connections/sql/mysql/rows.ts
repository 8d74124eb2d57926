/** Inserts jobs on MySQL. The statements must come in a packet after one that sets `@onqueue_now`. */
import { invalidQueueName } from '../../../job/errors';
import { followersOf, COUNTERS, laneColumns, valuesOf, type Ending, type QueuedJob, type Holders } from '../dialect';
import { numeral, raw, sql, type Sql, type SqlPart } from '../statement';
import { availableAt, dueOf, findTail, HELD_AT, keyOf, LATEST, NEVER, type MysqlNames } from './columns';
import type { Seconds } from '../../../base/clock';
import type { UniqueTie } from '../../../payload/ties';
import { CallKeys, type CallMark } from '../calls';

/** The length of a queue's name in characters, as in Laravel's tables. */
const LONGEST_NAME = 255;

const COLUMNS = `queue, payload, uuid, ${COUNTERS}, available_at, created_at, due_at, place`;

/** Only jobs with lanes need theirs. */
const columnsOf = (jobs: readonly QueuedJob[]): Sql =>
  raw(jobs.some(({ lane }) => lane !== undefined) ? `${COLUMNS}, lane, lane_limit, lane_order` : COLUMNS);

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
  const own = jobs.filter((job) => job.queue === queue);
  const isLaned = own.some(({ lane }) => lane !== undefined);
  const rows = own.map((job, index) => sql`(${rowOf(job, index, dueOf(job), isLaned)})`);
  const insert = sql`INSERT INTO ${names.jobs} (${columnsOf(own)}) VALUES ${rows}`;
  return [findTail(names, queue), ...(isLaned ? [KEEP_TAIL] : []), insert];
}

/** Adds the jobs of a queue whose conditions hold at its tail. */
export function insertCandidates(names: MysqlNames, queue: string, candidates: readonly Candidate[]): readonly Sql[] {
  const own = candidates.filter(({ job }) => job.queue === queue);
  const inserts = own.map(
    ({ job, condition }, index) =>
      sql`INSERT INTO ${names.jobs} (${columnsOf([job])}) SELECT ${rowOf(job, index)} FROM DUAL WHERE ${condition}`,
  );
  const isLaned = own.some(({ job }) => job.lane !== undefined);
  return [findTail(names, queue), ...(isLaned ? [KEEP_TAIL] : []), ...inserts];
}

/** Adds a job, which is ready at once unless `due` is given. */
export function insertJob(names: MysqlNames, job: QueuedJob, due: Sql | undefined): readonly Sql[] {
  const insert = sql`INSERT INTO ${names.jobs} (${columnsOf([job])}) VALUES (${rowOf(job, 0, due)})`;
  const keep = job.lane === undefined ? [] : [KEEP_TAIL];
  return due === undefined ? [findTail(names, job.queue), ...keep, insert] : [insert];
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

/** Jobs that lanes let in later keep the places that they would have had. */
const KEEP_TAIL = raw('SET @onqueue_first = @onqueue_tail');

/** @param isLaned whether it has the columns of lanes */
function rowOf(job: QueuedJob, index: number, due = dueOf(job), isLaned = job.lane !== undefined): readonly SqlPart[] {
  const { queue, payload, uuid, counters } = job;
  const isHeld = due === undefined && job.lane !== undefined;
  const place = due === undefined && !isHeld ? sql`@onqueue_tail + ${index + 1}` : null;
  const times = [isHeld ? NEVER : availableAt(due), raw('FLOOR(@onqueue_now)'), isHeld ? HELD_AT : (due ?? null)];
  const values = [queue, Buffer.from(payload), keyOf(uuid), ...valuesOf(counters), ...times, place];
  if (!isLaned) return values;
  const lane = laneColumns(job).map((value) => (typeof value === 'string' ? Buffer.from(value) : value));
  return [...values, ...lane, isHeld ? sql`@onqueue_order + ${index + 1}` : null];
}

export interface Claim {
  /** The index of the job in its call. */
  readonly place: number;
  readonly key: string;
  /** The id of the job, as stored in the table. */
  readonly holder: string;
  readonly for?: Seconds | undefined;
  /** The job holds the key until it has more attempts than this; absent: for as long as it exists. */
  readonly attempts?: number | undefined;
}

/** The unique keys that pushed jobs want to take. */
export function claimOf(place: number, { key, until, for: most }: UniqueTie, id: string, attempts: number): Claim {
  const longest = most === undefined ? undefined : Math.min(most, LATEST);
  return { place, key, holder: keyOf(id), for: longest, attempts: until === 'start' ? attempts : undefined };
}

/** Ordered by key, so that two calls that want the same keys do not deadlock. */
export const inOrder = <T extends Claim>(claims: readonly T[]): readonly T[] =>
  claims.toSorted((a, b) => (a.key < b.key ? -1 : 1));

/** A job that is inserted if a condition holds. */
export interface Candidate {
  readonly job: QueuedJob;
  readonly condition: Sql;
}

export class Claims extends CallKeys {
  readonly all: readonly Claim[];

  constructor(jobs: readonly QueuedJob[]) {
    super(jobs);
    const claims = [...this.firsts.values()].map((place) => {
      const { tie, uuid, counters } = jobs[place]!;
      return claimOf(place, tie!, uuid, counters.attempts);
    });
    this.all = inOrder(claims);
  }

  /** For statements that come after `@onqueue_held` was set. */
  get candidates(): readonly Candidate[] {
    return this.jobs.flatMap((job, place) => {
      if (!this.isAsked(job, place)) return [];
      return [{ job, condition: job.tie === undefined ? raw('TRUE') : isFree(sql`${place}`) }];
    });
  }

  /**
   * Undefined if all jobs were simply queued.
   * @param text the value of `@onqueue_held`
   * @param held the holders of keys, by key, if they are not in the text
   */
  holdersIn(text: string, held = this.#heldIn(text)): Holders | undefined {
    return this.holders(held, idsIn(text, ';'));
  }

  #heldIn(text: string): ReadonlyMap<string, string> {
    return new Map(idsIn(text, ',').map(([place, id]) => [this.jobs[Number(place)]!.tie!.key, id]));
  }
}

/** The entries of `@onqueue_held` with this mark: the indexes of jobs with the ids of others. */
function idsIn(text: string, mark: ',' | ';'): readonly (readonly [place: string, id: string])[] {
  const entries = text.matchAll(new RegExp(`${mark}(\\d+):([\\dA-F]*)`, 'g'));
  return [...entries].map(([, place, digits]) => [place!, Buffer.from(digits!, 'hex').toString()]);
}

/**
 * In `@onqueue_held` each key that is taken has an entry: `,`, the index of the job, `:`, and the id of the holder in
 * hexadecimal digits.
 */
export const isFree = (place: Sql): Sql => sql`LOCATE(CONCAT(',', ${place}, ':'), @onqueue_held) = 0`;

/** Negative for a call that comes too late. As the column is unsigned, the statement fails. */
const LATER = sql`number + (VALUES(number) - number)`;

/**
 * The server's record of each client's last call, so that a call whose answer got lost is neither repeated nor forgotten.
 * See `CallMark`.
 *
 * A statement that we sent and gave up may still arrive. It has no effect then: the record of a later call makes the earlier
 * one's record fail, and with it its transaction.
 *
 * Keeps the client's earlier calls out from here on, and reads what they did into variables.
 */
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

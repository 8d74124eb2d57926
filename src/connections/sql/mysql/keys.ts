/**
 * Which job holds each unique key on MySQL: in a separate table, so that plain jobs cost nothing more.
 *
 * Its rows only name holders. Whether a job still holds its key is read from the job itself: its row exists, and with
 * `until: 'start'` it has no more attempts than when it took the key (the attempt of a job that was given back or lost is
 * subtracted again). So the code that ends, reserves or reclaims jobs need not care about keys, and a key is free when its
 * job is gone, whoever removed it. The key's row then stays, and a later push removes it.
 *
 * Keys are taken in three steps: look, lock what is free, and look again. The second look is a separate statement, as one
 * that waited for a lock sees the data from before. Looks take no locks: a call that only asks for a key delays neither its
 * job nor others.
 */
import { FENCE, type Holders, type Ending, type TiedReservation, type QueuedJob } from '../dialect';
import { raw, rowsOf, run, sql, type Sql, type Work } from '../statement';
import { insertJob, type Candidate, heldBy, LATEST, keyOf, DELAYED, dueOf, type MysqlNames } from './rows';
import type { DebounceTie, UniqueTie } from '../../../payload/ties';
import type { Seconds } from '../../../base/clock';
import { CallKeys } from '../calls';

/**
 * Rows that a push examines for each key that it takes. With two, no more rows are left over in the long run than there are
 * jobs.
 */
const SWEPT = 2;

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

interface Row {
  readonly holder: string;
  readonly holds: boolean;
}

/** For a packet, after `@onqueue_now` was set: afterwards `@onqueue_held` says which keys are held, and by which jobs. */
export function takeKeys(names: MysqlNames, { all }: Claims): readonly Sql[] {
  const nothing = raw("SET @onqueue_held = ''");
  return all.length === 0 ? [nothing] : [nothing, look(names, all), ...takeFree(names, all)];
}

/** For a packet: jobs in `@onqueue_settled` that went back as if never started take their keys again. */
export function retakeKeys(names: MysqlNames, endings: readonly Ending[]): readonly Sql[] {
  const claims = endings.flatMap((ending, place) => {
    if (ending.kind !== 'released' || ending.retakes === undefined) return [];
    const { id, unique } = ending.retakes;
    return [{ ...claimOf(place, unique!, id, ending.counters.attempts), job: ending.id }];
  });
  if (claims.length === 0) return [];
  const isBack = raw('FIND_IN_SET(list.job, @onqueue_settled) > 0');
  // The key's time starts again. The job's own old entry does not keep it out.
  return [
    raw("SET @onqueue_held = ''"),
    ...takeFree(names, inOrder(claims), isBack, raw('kept.holder <> list.holder')),
  ];
}

/** Reserved jobs give up their keys. */
export function giveUpKeys({ jobs, uniqueKeys }: MysqlNames, given: readonly TiedReservation[]): readonly Sql[] {
  return given.map(
    (
      one,
    ) => sql`DELETE FROM ${uniqueKeys} WHERE unique_key = ${Buffer.from(one.tied.unique!.key)} AND holder = ${keyOf(one.tied.id)}
      AND EXISTS (SELECT 1 FROM ${jobs} WHERE ${heldBy([one])})`,
  );
}

/** For a packet, after `@onqueue_now` was set: reserved jobs take the keys again that they have given up. */
export function takeBackKeys(names: MysqlNames, given: readonly TiedReservation[]): readonly Sql[] {
  const claims = given.map(({ tied: { id, unique } }, place) => claimOf(place, unique!, id, 0));
  return [
    raw("SET @onqueue_held = ''"),
    ...takeFree(names, inOrder(claims), raw('TRUE'), raw('kept.holder <> list.holder')),
  ];
}

/**
 * Step by step, within a transaction under way; returns the holders of the keys that are held. The looks run outside of
 * it, as a user's transaction may see the data from when it began.
 */
export function* takeEach(names: MysqlNames, { all }: Claims): Work<ReadonlyMap<string, string>> {
  const held = new Map<string, string>();
  if (all.length === 0) return held;
  for (const [key, { holder, holds }] of yield* rowsNow(names, all)) if (holds) held.set(key, holder);
  const wanted = all.filter(({ key }) => !held.has(key));
  if (wanted.length === 0) return held;
  const locked = yield* lockEach(names, wanted);
  const seen = yield* rowsNow(names, wanted);
  for (const [key, holder] of locked) {
    const row = seen.get(key);
    // A holder that others cannot see was added by this very transaction.
    if (row?.holder !== holder || row.holds) held.set(key, holder);
  }
  const free = wanted.filter(({ key }) => !held.has(key));
  if (free.length > 0) yield* run(write(names, free, names.now()));
  return held;
}

/**
 * For the end of a packet: removes rows that were left over. Keys are hashes, so the rows next to ours are as good as any
 * others.
 */
export function sweepKeys({ jobs, ids, uniqueKeys }: MysqlNames, keys: readonly string[]): readonly Sql[] {
  return [
    sql`SELECT CONCAT('[', COALESCE(GROUP_CONCAT(CONCAT('["', HEX(next.unique_key), '","', HEX(next.holder), '"]')), ''), ']')
      INTO @onqueue_left_behind
      FROM (SELECT unique_key, holder FROM ${uniqueKeys} WHERE unique_key > ${Buffer.from(keys[0]!)} ORDER BY unique_key
        LIMIT ${SWEPT * keys.length}) AS next
      LEFT JOIN ${jobs} AS job FORCE INDEX (${ids}) ON job.uuid = next.holder WHERE job.id IS NULL`,
    // If somebody is about to take the key, the row is left to them: nobody waits here.
    sql`DELETE kept FROM (
        SELECT found.unique_key
        FROM JSON_TABLE(@onqueue_left_behind, '$[*]' COLUMNS (
          unique_key VARCHAR(64) PATH '$[0]', holder VARCHAR(510) PATH '$[1]')) AS list
        STRAIGHT_JOIN ${uniqueKeys} AS found ON found.unique_key = UNHEX(list.unique_key) AND HEX(found.holder) = list.holder
        FOR UPDATE SKIP LOCKED
      ) AS gone STRAIGHT_JOIN ${uniqueKeys} AS kept ON kept.unique_key = gone.unique_key`,
  ];
}

function takeFree(
  names: MysqlNames,
  claims: readonly Claim[],
  isMeant = raw('TRUE'),
  isAnother = raw('TRUE'),
): readonly Sql[] {
  const isWanted = sql`${isFree(raw('list.place'))} AND ${isMeant}`;
  const now = raw('@onqueue_now');
  return [lock(names, claims, isWanted), look(names, claims, isAnother), write(names, claims, now, isWanted)];
}

/** Adds the keys to `@onqueue_held` that have become held since the last look. */
function look(names: MysqlNames, claims: readonly Claim[], isMeant = raw('TRUE')): Sql {
  const held = raw(`GROUP_CONCAT(DISTINCT CONCAT(',', list.place, ':', HEX(kept.holder)) SEPARATOR '')`);
  return sql`SELECT CONCAT(@onqueue_held, COALESCE(${held}, '')) INTO @onqueue_held
    FROM ${listed(claims)} STRAIGHT_JOIN ${kept(names)} ON kept.unique_key = list.unique_key
    STRAIGHT_JOIN ${holding(names, raw('@onqueue_now'))} WHERE ${isFree(raw('list.place'))} AND ${isMeant}`;
}

function lock({ uniqueKeys }: MysqlNames, claims: readonly Claim[], condition = raw('TRUE')): Sql {
  return sql`INSERT INTO ${uniqueKeys} (unique_key, holder)
    SELECT list.unique_key, NULL FROM ${listed(claims)} WHERE ${condition} ORDER BY n
    ON DUPLICATE KEY UPDATE holder = ${uniqueKeys}.holder`;
}

function write(names: MysqlNames, claims: readonly Claim[], now: Sql, condition = raw('TRUE')): Sql {
  return sql`UPDATE ${listed(claims)} STRAIGHT_JOIN ${kept(names)} ON kept.unique_key = list.unique_key
    SET kept.holder = list.holder, kept.ends_at = LEAST(${now} + list.longest, ${LATEST}), kept.attempts = list.attempts
    WHERE ${condition}`;
}

/** The holders named in the rows, without those whose time is over. The rows stay locked. */
function* lockEach(names: MysqlNames, claims: readonly Claim[]): Work<ReadonlyMap<string, string>> {
  yield* run(lock(names, claims));
  const rows = yield* rowsOf(
    sql`SELECT kept.unique_key, kept.holder, kept.ends_at <= ${names.now()} AS is_over FROM ${kept(names)}
      WHERE kept.unique_key IN (${keysOf(claims)}) AND kept.holder IS NOT NULL FOR UPDATE`,
  );
  const named = rows.filter(([, , isOver]) => Number(isOver) === 0);
  return new Map(named.map(([key, holder]) => [String(key), String(holder)]));
}

function* rowsNow(names: MysqlNames, claims: readonly Claim[]): Work<ReadonlyMap<string, Row>> {
  const look = sql`SELECT kept.unique_key, kept.holder, MAX(job.id) IS NOT NULL AS holds
    FROM ${kept(names)} LEFT JOIN ${holding(names, names.now())}
    WHERE kept.unique_key IN (${keysOf(claims)}) GROUP BY kept.unique_key, kept.holder`;
  const rows = yield* rowsOf({ ...look, apart: true });
  return new Map(
    rows.map(([key, holder, holds]) => [String(key), { holder: String(holder), holds: Number(holds) > 0 }]),
  );
}

const kept = ({ uniqueKeys }: MysqlNames): Sql => sql`${uniqueKeys} AS kept`;

/** The job that holds the key, as a table to join. */
function holding({ jobs, ids }: MysqlNames, now: Sql): Sql {
  return sql`${jobs} AS job FORCE INDEX (${ids}) ON job.uuid = kept.holder
    AND (kept.ends_at IS NULL OR kept.ends_at > ${now})
    AND (kept.attempts IS NULL OR job.attempts <= kept.attempts)`;
}

const keysOf = (claims: readonly Claim[]): readonly Buffer[] => claims.map(({ key }) => Buffer.from(key));

/** Turns claims into rows, in order. Absent values are NULL. */
const listed = (claims: readonly Claim[]): Sql =>
  sql`JSON_TABLE(${JSON.stringify(claims)}, '$[*]' COLUMNS (
      n FOR ORDINALITY, place INT PATH '$.place', unique_key VARCHAR(32) PATH '$.key', holder VARCHAR(255) PATH '$.holder',
      longest DECIMAL(16, 6) PATH '$.for', attempts BIGINT PATH '$.attempts', job BIGINT PATH '$.job'
    )) AS list`;

/** The debounce keys of a call's jobs. Ordered, so that two calls that want the same keys do not deadlock. */
export const debounceKeys = (jobs: readonly QueuedJob[]): readonly string[] =>
  [...new Set(jobs.flatMap(({ debounce }) => debounce?.key ?? []))].toSorted();

/**
 * Pushes debounced jobs on MySQL. The row of a key names the job that waits and until when, so a push need not look at and
 * lock a job only to find that it no longer waits. A worker that runs the job waits for no push.
 *
 * The statements must come after those that set `@onqueue_now` and `@onqueue_held`. For each job that was replaced they
 * append to `@onqueue_held`: `;`, the index of the new job, `:`, and the id of the old one in hexadecimal digits.
 *
 * Locks the keys of those of a call's jobs that are debounced; then each of these in turn replaces the one that waits.
 */
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

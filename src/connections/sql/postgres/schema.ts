/**
 * Creates the tables in PostgreSQL, or adds what is missing to Laravel's and to those of older versions, while workers and
 * dispatches go on.
 *
 * Each step is a short transaction that changes one table, and only if something is missing in it: it locks nothing that it
 * does not change, never two tables in an order other than the traffic's, and gives up a lock that it does not get within
 * half a second, as everybody else would wait behind it. Indexes of tables with jobs are built concurrently.
 *
 * Autovacuum visits the jobs table after a fixed number of changes, as a queue may always be short and yet have millions of
 * dead rows a day. Free space on its pages takes the copy of the row that each reservation makes.
 */
import type { Seconds } from '../../../base/clock';
import { RESERVED, DELAYED, KNOWN_ID, NO_ID, READY, UNREAD_ID } from '../dialect';
import { ageText, HeldUp, type Schema, type Log, LONG, oldTransactionWarning } from '../server/tables';
import { raw, rowsOf, run, sql, valueOf, transaction, type Sql, type Work } from '../statement';
import { LARAVELS_LEASE, sinceRow, type TableNames } from '../address';
import { exchangeFunction, pushFunction } from './functions';
import { changeBatchesFunction, pushBatchFunction } from './batches';
import { pushTiedFunction, retakeFunction } from './keys';
import { enterFunction, letInFunction } from './lanes';
import { literal, quoted, CANCELLING, DUE, type Identifiers } from './names';
import { isHeldUp } from './errors';
import type { Diagnosis } from '../../contract';

const VERSION = 10;
/** Stays behind the version where a step only adds what older programs can leave alone. */
const SINCE = 10;

/** The oldest server; the statements use MATERIALIZED. */
const OLDEST = { number: 120_000, text: 'PostgreSQL 12' };

type Columns = Readonly<Record<string, string>>;

/** Our columns in Laravel's tables, and those that later versions have added. */
const ADDED = {
  jobs: {
    crashes: 'bigint NOT NULL DEFAULT 0',
    exceptions: 'bigint NOT NULL DEFAULT 0',
    timeouts: 'bigint NOT NULL DEFAULT 0',
    releases: 'bigint NOT NULL DEFAULT 0',
    cancelled: 'boolean NOT NULL DEFAULT false',
    cancel_reason: 'text',
    place: 'bigint',
    due_at: 'double precision',
    lease_until: 'double precision',
    holder: 'text',
    uuid: 'text',
    // The unique key that it holds and until when; and what it needs to take back a key that it holds until its start.
    unique_key: 'text',
    unique_until: 'double precision',
    start_key: 'text',
    start_for: 'double precision',
    // Its lane, how many of its jobs may be in (0: one, in order), and whether it is in (0) or held, in this order; NULL: it has no lane,
    // or is delayed.
    lane: 'text',
    lane_limit: 'bigint',
    lane_order: 'bigint',
  },
  failed: {
    raw: 'bytea',
    failed_ms: 'bigint',
    name: `text NOT NULL DEFAULT ''`,
    attempts: 'bigint NOT NULL DEFAULT 0',
  },
  // When a pause ends; NULL: when it is resumed. And how many jobs of a queue may run at a time.
  orders: { ends_at: 'double precision', amount: 'bigint' },
  // Who held the keys of pushed jobs.
  calls: { held: 'text' },
} as const satisfies Partial<Record<keyof TableNames, Columns>>;

/** Laravel's attempts end at 32767, and its names at 255 characters. */
const WIDENED = {
  jobs: { attempts: 'bigint', queue: 'text' },
  failed: { uuid: 'text', connection: 'text', queue: 'text' },
} as const satisfies Partial<Record<keyof TableNames, Columns>>;

export function postgresSchema(ids: Identifiers): Schema {
  const { given: names, now } = ids;
  const adoption = raw(
    `UPDATE ${ids.jobs} SET lease_until = reserved_at + ${LARAVELS_LEASE} WHERE ${RESERVED} AND lease_until IS NULL`,
  );
  const indexes = indexesOf(names);
  const texts = stepTexts(ids, adoption.text);
  const version = versionText(ids, indexes);
  return {
    version: VERSION,
    names,
    versions: raw(ids.versions),
    adoption,
    *server() {
      const settings = sql`SELECT current_setting('server_version'), current_setting('server_version_num'),
        substring(current_setting('default_transaction_isolation') FROM '^(repeatable read|serializable)$')`;
      const [[server, number, isolation = null] = []] = yield* rowsOf(settings);
      const needed = Number(number) < OLDEST.number ? OLDEST.text : undefined;
      return {
        server: `PostgreSQL ${String(server)}`,
        needed,
        isolation: isolation === null ? undefined : String(isolation),
      };
    },
    columns: (tables) =>
      rowsOf(
        sql`SELECT given, attname, format_type(atttypid, atttypmod)
          FROM unnest(${`{${tables.join(',')}}`}::text[]) AS given
          JOIN pg_attribute ON attrelid = to_regclass('"' || given || '"') AND attnum > 0 AND NOT attisdropped`,
      ),
    lack: () => flawIn(indexes),
    findings: () => findings(now()),
    migration: (log) => ({
      steps: [
        ...texts.map((text) => () => briefly(() => run(raw(text)))),
        ...indexes.map((index) => () => build(index, now(), log)),
      ],
      finish: () =>
        briefly(function* () {
          const before = yield* valueOf(sql`SELECT version FROM ${raw(ids.versions)} WHERE name = ${names.jobs}`);
          yield* run(raw(version));
          return Number(before);
        }),
      isHeldUp,
      *holder() {
        const [row] = yield* rowsOf(oldestHolder(now(), Object.values(names)));
        return row && { who: String(row[0]), age: Number(row[1]), table: String(row[2]) };
      },
      pause: (seconds) => sql`SELECT pg_sleep(${seconds})`,
    }),
    sql: () => printed(texts, indexes, version),
  };
}

/**
 * Part 1 is what a program that migrates a whole database can run in its one transaction, too: on tables that are small or
 * new, nothing is left for part 2.
 */
function printed(texts: readonly string[], indexes: readonly Index[], version: string): string {
  const tables = [...new Set(indexes.map(({ table }) => table))];
  const prepared = tables.map((name) => prepare(indexes.filter(({ table }) => table === name)));
  return `-- The tables of Onqueue, version ${VERSION}, for ${OLDEST.text} and newer. Each statement can be run again, beside workers and
-- dispatches. If one fails because of lock_timeout, a transaction holds the table: run all of them again when it has ended.
-- The version is written once nothing is missing.

-- Part 1: tables and functions.

SET lock_timeout = '${LOCK_TIMEOUT}';

${[...texts, ...prepared, version].join('\n\n')}

-- Part 2: the indexes of tables with many jobs. Run it outside of a transaction, as psql does. In new tables there is nothing to do.

SET lock_timeout = 0;
SET statement_timeout = 0;

${indexes.map(concurrently).join('\n')}

${version}

RESET lock_timeout;
RESET statement_timeout;
`;
}

/** Written once all columns and indexes are there, as a statement before it may have failed. */
function versionText({ given: names, versions }: Identifiers, indexes: readonly Index[]): string {
  const areThere = Object.entries(ADDED).map(([table, columns]) => has(names[table as keyof TableNames], columns));
  return `INSERT INTO ${versions} (name, version)
SELECT * FROM (VALUES (${literal(names.jobs)}, ${VERSION}), (${literal(sinceRow(names))}, ${SINCE})) AS written
WHERE ${[...areThere, areUsable(indexes)].join('\n  AND ')}
ON CONFLICT (name) DO UPDATE SET version = excluded.version;`;
}

/** The condition that the table has all of these columns. */
function has(table: string, columns: Columns): string {
  const attributes = Object.keys(columns).map(literal);
  return `${attributes.length} = (SELECT count(*) FROM pg_attribute
    WHERE attrelid = to_regclass(${literal(quoted(table))}) AND attname IN (${attributes.join(', ')}) AND NOT attisdropped)`;
}

function addColumns(table: string, columns: Columns): string {
  const added = Object.entries(columns).map(([name, type]) => `      ADD COLUMN IF NOT EXISTS ${name} ${type}`);
  return `DO $$ BEGIN
  IF NOT ${has(table, columns)} THEN
    ALTER TABLE ${quoted(table)}
${added.join(',\n')};
  END IF;
END $$;`;
}

/** Rewrites the table if a column is of another size: only one that Laravel has made. */
function widen(table: string, columns: Columns): string {
  const types = Object.entries(columns).map(([name, type]) => `(${literal(name)}, '${type}'::regtype)`);
  const changes = Object.entries(columns).map(([name, type]) => `ALTER COLUMN ${name} TYPE ${type}`);
  return `DO $$ BEGIN
  IF ${types.length} > (SELECT count(*) FROM pg_attribute
    WHERE attrelid = to_regclass(${literal(quoted(table))}) AND (attname, atttypid) IN (${types.join(', ')})) THEN
    ALTER TABLE ${quoted(table)} ${changes.join(', ')};
  END IF;
END $$;`;
}

/** Each is a transaction of its own. */
function stepTexts(ids: Identifiers, adoption: string): readonly string[] {
  const names = ids.given;
  const { jobs, failed, queues, locks, orders, calls, batches, records, sums, lanes, versions, places } = ids;
  return [
    `CREATE TABLE IF NOT EXISTS ${versions} (name text PRIMARY KEY, version integer NOT NULL);`,
    `-- Waiting and running jobs: Laravel's columns and our own.
CREATE TABLE IF NOT EXISTS ${jobs} (
  id bigserial PRIMARY KEY,
  queue text NOT NULL,
  payload text NOT NULL,
  attempts bigint NOT NULL,
  reserved_at integer,
  available_at integer NOT NULL,
  created_at integer NOT NULL
);`,
    addColumns(names.jobs, ADDED.jobs),
    `-- Laravel's attempts end at 32767, and its names at 255 characters.\n${widen(names.jobs, WIDENED.jobs)}`,
    `-- Jobs that Laravel's workers have reserved get Laravel's lease.\n${adoption};`,
    `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass(${literal(jobs)}) AND reloptions::text ~ 'autovacuum_vacuum_threshold') THEN
    ALTER TABLE ${jobs} SET (
      fillfactor = 75,
      autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
      autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000
    );
  END IF;
  IF to_regclass(${literal(places)}) IS NULL THEN
    CREATE SEQUENCE ${places} OWNED BY ${jobs}.place;
  END IF;
END $$;`,
    `-- Failed jobs: Laravel's columns and our own.
CREATE TABLE IF NOT EXISTS ${failed} (
  id bigserial PRIMARY KEY,
  uuid text NOT NULL,
  connection text NOT NULL,
  queue text NOT NULL,
  payload text NOT NULL,
  exception text NOT NULL,
  failed_at timestamp(0) without time zone NOT NULL DEFAULT current_timestamp
);`,
    addColumns(names.failed, ADDED.failed),
    widen(names.failed, WIDENED.failed),
    `-- The queues that were pushed to, locks, orders to workers, and the last answers to clients.
CREATE TABLE IF NOT EXISTS ${queues} (name text PRIMARY KEY);
CREATE TABLE IF NOT EXISTS ${locks} (name text PRIMARY KEY, token text NOT NULL, expires_at double precision NOT NULL);
CREATE TABLE IF NOT EXISTS ${orders} (kind text NOT NULL, value text NOT NULL, PRIMARY KEY (kind, value));
CREATE TABLE IF NOT EXISTS ${calls} (
  client text PRIMARY KEY, call bigint NOT NULL, called_at integer NOT NULL, answer bigint[]
) WITH (fillfactor = 50);`,
    addColumns(names.orders, ADDED.orders),
    addColumns(names.calls, ADDED.calls),
    `-- Batches: how many of their jobs are left, and what they send. Each of these jobs updates the row, which leaves copies on its page.
CREATE TABLE IF NOT EXISTS ${batches} (
  id text PRIMARY KEY,
  name text NOT NULL,
  allows_failures boolean NOT NULL,
  pending bigint NOT NULL DEFAULT 0,
  completed bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  skipped bigint NOT NULL DEFAULT 0,
  created_at double precision NOT NULL,
  finished_at double precision,
  cancelled_at double precision,
  open_until double precision,
  open_for double precision,
  every_jobs bigint,
  sent text NOT NULL DEFAULT '',
  callbacks text NOT NULL
) WITH (fillfactor = 50);

-- Records about jobs, which expire, and sums. Texts are compared byte by byte.
CREATE TABLE IF NOT EXISTS ${records} (
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  value text NOT NULL,
  ends_at double precision NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE TABLE IF NOT EXISTS ${sums} (
  name text COLLATE "C" NOT NULL,
  field text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  ends_at double precision NOT NULL,
  PRIMARY KEY (name, field)
) WITH (fillfactor = 50);`,
    `-- Lanes with jobs: how many may be in, as the last of these jobs said (0: one, in order), and what was set by hand.
CREATE TABLE IF NOT EXISTS ${lanes} (
  queue text COLLATE "C" NOT NULL,
  lane text COLLATE "C" NOT NULL,
  running bigint NOT NULL DEFAULT 1,
  own_limit bigint,
  paused boolean NOT NULL DEFAULT false,
  PRIMARY KEY (queue, lane)
);`,
    letInFunction(ids),
    enterFunction(ids),
    pushFunction(ids),
    pushTiedFunction(ids),
    retakeFunction(ids),
    changeBatchesFunction(ids),
    pushBatchFunction(ids),
    exchangeFunction(ids),
  ];
}

/** How long a change waits for a lock, as everybody else would wait behind it. */
const LOCK_TIMEOUT = '500ms';

/** Two processes that migrate take turns. */
const BEGIN = raw(
  `BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '${LOCK_TIMEOUT}'; SELECT pg_advisory_xact_lock(hashtext('onqueue migrate'))`,
);

/** Runs statements in a transaction that waits for no lock. */
export const briefly = <T>(work: () => Work<T>): Work<T> => transaction(work, BEGIN);

export interface Index {
  readonly name: string;
  readonly table: string;
  readonly isUnique: boolean;
  /** What stands behind the table's name. */
  readonly columns: string;
}

/** So few bytes are read and sorted in milliseconds. */
const SMALL = 1_048_576;

/**
 * The indexes of the tables in PostgreSQL, and how they are built beside workers and dispatches.
 *
 * The index of a small table is built at once. That of another one is built concurrently, outside of any transaction: the
 * server waits until the transactions that have begun before have ended, and an index whose building was interrupted stays
 * there as invalid.
 */
export function indexesOf({ jobs, failed, locks, batches, records, sums }: TableNames): readonly Index[] {
  const on = (table: string, suffix: string, columns: string, isUnique = false): Index => {
    return { name: `${table}_${suffix}`, table, columns, isUnique };
  };
  return [
    on(jobs, 'ready', `(queue, place) WHERE ${READY}`),
    on(jobs, 'delayed', `(queue, (${DUE}), id) WHERE ${DELAYED}`),
    on(jobs, 'reserved', `(queue, lease_until) WHERE ${RESERVED}`),
    on(jobs, 'uuid', `(uuid) WHERE ${KNOWN_ID}`),
    on(jobs, 'unread', `(id) WHERE ${UNREAD_ID}`),
    on(jobs, 'texts', `(queue, hashtext(payload)) WHERE ${NO_ID}`),
    on(jobs, 'unique', '(unique_key) WHERE unique_key IS NOT NULL', true),
    on(jobs, 'laned', '(queue, lane, lane_order) WHERE lane_order IS NOT NULL'),
    on(failed, 'uuid_unique', '(uuid)', true),
    on(failed, 'queue', '(queue, id)'),
    on(locks, 'expires_at', '(expires_at)'),
    on(batches, 'created', '(created_at)'),
    on(batches, 'finished', '(finished_at) WHERE finished_at IS NOT NULL'),
    on(batches, 'cancelling', `(id) WHERE ${CANCELLING}`),
    on(records, 'kind', '(kind, ends_at, id)'),
    on(records, 'ends', '(ends_at)'),
    on(sums, 'ends', '(ends_at)'),
  ];
}

const creation = ({ name, table, isUnique, columns }: Index, how: string): string =>
  `CREATE ${isUnique ? 'UNIQUE ' : ''}INDEX ${how}IF NOT EXISTS ${quoted(name)} ON ${quoted(table)} ${columns};`;

export const concurrently = (index: Index): string => creation(index, 'CONCURRENTLY ');

/** The indexes of one table: those that are broken are dropped, and all are made if the table is small. */
export function prepare(indexes: readonly Index[]): string {
  const { table } = indexes[0]!;
  const drops = indexes.map(
    ({ name }) => `  IF NOT (SELECT indisvalid FROM pg_index WHERE indexrelid = ${place(name)}) AND NOT v_busy THEN
    DROP INDEX ${quoted(name)};
  END IF;`,
  );
  const creations = indexes.map(
    (index) => `    IF ${place(index.name)} IS NULL THEN
      ${creation(index, '')}
    END IF;`,
  );
  return `DO $$
DECLARE
  v_busy boolean := ${isWorkedOn(table)};
BEGIN
${drops.join('\n')}
  IF pg_relation_size(${place(table)}) < ${SMALL} THEN
${creations.join('\n')}
  END IF;
END $$;`;
}

/** Whoever builds an index, vacuums or analyses holds this lock. */
const isWorkedOn = (table: string): string =>
  `EXISTS (SELECT FROM pg_locks
    WHERE relation = ${place(table)} AND mode = 'ShareUpdateExclusiveLock' AND granted AND pid <> pg_backend_pid())`;

const place = (name: string): string => `to_regclass(${literal(quoted(name))})`;

/** The condition that all of them can be used. */
const areUsable = (indexes: readonly Index[]): string =>
  `${indexes.length} = (SELECT count(*) FROM pg_index WHERE indisvalid AND indexrelid IN (${indexes.map(({ name }) => place(name)).join(', ')}))`;

type Flaw = 'missing' | 'invalid';

/** Undefined: it can be used. */
function* flawOf({ name }: Index): Work<Flaw | undefined> {
  const rows = yield* rowsOf(raw(`SELECT indisvalid FROM pg_index WHERE indexrelid = ${place(name)}`));
  if (rows.length === 0) return 'missing';
  return rows[0]![0] === 't' ? undefined : 'invalid';
}

/** What is wrong with an index, as a clause; undefined if all can be used. */
export function* flawIn(indexes: readonly Index[]): Work<string | undefined> {
  for (const index of indexes) {
    const flaw = yield* flawOf(index);
    if (flaw !== undefined) return `the index ${index.name} is ${flaw}`;
  }
  return undefined;
}

/** Two that build an index of one table would wait for each other. Not in a transaction, so for the session. */
const ALONE = "hashtext('onqueue migrate an index')";

/** @param now the current time */
export function* build(index: Index, now: Sql, log: Log): Work<void> {
  if ((yield* flawOf(index)) === undefined) return;
  if ((yield* valueOf(raw(`SELECT pg_try_advisory_lock(${ALONE})`))) !== 't') {
    throw new HeldUp('another process builds an index');
  }
  try {
    yield* buildAlone(index, now, log);
  } finally {
    yield* run(raw(`SELECT pg_advisory_unlock(${ALONE})`));
  }
}

function* buildAlone(index: Index, now: Sql, log: Log): Work<void> {
  yield* briefly(() => run(raw(prepare([index]))));
  const flaw = yield* flawOf(index);
  if (flaw === undefined) return;
  if (flaw === 'invalid') throw new HeldUp(`others are at work on ${index.table}`);
  const [old] = yield* rowsOf(sql`${openTransactions(now, 1)} ORDER BY age DESC LIMIT 1`);
  const wait = old === undefined ? '' : ` It waits for a transaction of ${ageText(Number(old[1]))}: ${String(old[0])}.`;
  log.info({ index: index.name }, `The index ${index.name} is being built; workers and dispatches go on.${wait}`);
  yield* unlimited(() => run(raw(concurrently(index))));
}

/** A limit that a user, a pool or a database has would leave an invalid index each time. */
function* unlimited(work: () => Work<unknown>): Work<void> {
  const limits = ['statement_timeout', 'lock_timeout'];
  const [before = []] = yield* rowsOf(raw(`SELECT ${limits.map((name) => `current_setting('${name}')`).join()}`));
  const set = (values: readonly unknown[]): Sql =>
    sql`SELECT ${limits.map((name, at) => sql`set_config(${name}, ${String(values[at])}, false)`)}`;
  yield* run(set(limits.map(() => 0)));
  try {
    yield* work();
  } finally {
    yield* run(set(before));
  }
}

/** @param now the current time */
export function* findings(now: Sql): Work<readonly Diagnosis[]> {
  const [[standby, readOnly, encoding] = []] = yield* rowsOf(
    sql`SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('server_encoding')`,
  );
  const found: Diagnosis[] = [];
  if (standby === 't') {
    found.push({ level: 'error', subject: 'writes', message: 'this is a standby; give the address of its primary.' });
  } else if (readOnly === 'on') {
    const message = 'default_transaction_read_only is on for this user, its database or the server; switch it off.';
    found.push({ level: 'error', subject: 'writes', message });
  }
  if (encoding !== 'UTF8') {
    const message =
      `the database's encoding is ${String(encoding)}: jobs and errors with characters that it lacks are refused. ` +
      "Use a database with ENCODING 'UTF8'.";
    found.push({ level: 'warning', subject: 'encoding', message });
  }
  const [row] = yield* rowsOf(sql`${openTransactions(now, LONG)} ORDER BY age DESC LIMIT 1`);
  if (row !== undefined) found.push(oldTransactionWarning({ who: String(row[0]), age: Number(row[1]) }));
  return found;
}

const ageOf = (now: Sql, began: Sql): Sql => sql`${now} - extract(epoch FROM ${began})::double precision`;

const WHO = raw(`'pid ' || pid || ' (' || coalesce(state, 'active') || ')'`);

/** Selects those for which the server keeps what others have removed: who it is, and its age. */
const openTransactions = (now: Sql, atLeast: Seconds): Sql => sql`SELECT who, age FROM (
    SELECT ${WHO} AS who, ${ageOf(now, raw('xact_start'))} AS age FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND coalesce(backend_xmin, backend_xid) IS NOT NULL
    UNION ALL
    SELECT 'the prepared transaction ' || gid, ${ageOf(now, raw('prepared'))} FROM pg_prepared_xacts
    WHERE database = current_database()
  ) AS transactions WHERE age > ${atLeast}`;

/** Selects the oldest transaction that has one of the tables locked: who it is, its age, and the table. */
const oldestHolder = (now: Sql, tables: readonly string[]): Sql =>
  sql`SELECT ${WHO}, ${ageOf(now, raw('xact_start'))}, relname FROM pg_locks
    JOIN pg_stat_activity USING (pid) JOIN pg_class ON pg_class.oid = relation
    WHERE granted AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
      AND relation IN (SELECT to_regclass('"' || given || '"') FROM unnest(${`{${tables.join(',')}}`}::text[]) AS given)
    ORDER BY xact_start LIMIT 1`;

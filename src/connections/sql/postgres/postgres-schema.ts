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
import { RESERVED } from '../columns';
import type { Schema } from '../server/server-tables';
import { raw, rowsOf, run, sql, valueOf } from '../statement';
import { LARAVELS_LEASE, type TableNames } from '../table-names';
import { exchangeFunction, pushFunction } from './functions';
import { changeBatchesFunction, pushBatchFunction } from './batch-functions';
import { pushTiedFunction, retakeFunction } from './key-functions';
import { type Identifiers, identifiers, literal, quoted } from './identifiers';
import { now } from './columns';
import { findings, oldestHolder } from './findings';
import {
  areUsable,
  briefly,
  build,
  concurrently,
  flawIn,
  type Index,
  indexesOf,
  LOCK_TIMEOUT,
  prepare,
} from './indexes';
import { isHeldUp } from './postgres-errors';

const VERSION = 8;

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
  },
  failed: {
    raw: 'bytea',
    failed_ms: 'bigint',
    name: `text NOT NULL DEFAULT ''`,
    attempts: 'bigint NOT NULL DEFAULT 0',
  },
  // When a pause ends; NULL: when it is resumed.
  orders: { ends_at: 'double precision' },
  // Who held the keys of pushed jobs.
  calls: { held: 'text' },
} as const satisfies Partial<Record<keyof TableNames, Columns>>;

/** Laravel's attempts end at 32767, and its names at 255 characters. */
const WIDENED = {
  jobs: { attempts: 'bigint', queue: 'text' },
  failed: { uuid: 'text', connection: 'text', queue: 'text' },
} as const satisfies Partial<Record<keyof TableNames, Columns>>;

/** @param offset seconds to add to the server's clock: 0 outside tests */
export function postgresSchema(names: TableNames, offset: () => Seconds = () => 0): Schema {
  const ids = identifiers(names);
  const adoption = raw(
    `UPDATE ${ids.jobs} SET lease_until = reserved_at + ${LARAVELS_LEASE} WHERE ${RESERVED} AND lease_until IS NULL`,
  );
  const indexes = indexesOf(names);
  const texts = stepTexts(names, ids, adoption.text);
  const version = versionText(names, ids, indexes);
  return {
    version: VERSION,
    names,
    versions: raw(ids.versions),
    adoption,
    *server() {
      const settings = sql`SELECT current_setting('server_version'), current_setting('server_version_num')`;
      const [[server, number] = []] = yield* rowsOf(settings);
      const needed = Number(number) < OLDEST.number ? OLDEST.text : undefined;
      return { server: `PostgreSQL ${String(server)}`, needed };
    },
    columns: (tables) =>
      rowsOf(
        sql`SELECT given, attname, format_type(atttypid, atttypmod)
          FROM unnest(${`{${tables.join(',')}}`}::text[]) AS given
          JOIN pg_attribute ON attrelid = to_regclass('"' || given || '"') AND attnum > 0 AND NOT attisdropped`,
      ),
    lack: () => flawIn(indexes),
    findings: () => findings(now(offset())),
    migration: (log) => ({
      steps: [
        ...texts.map((text) => () => briefly(() => run(raw(text)))),
        ...indexes.map((index) => () => build(index, now(offset()), log)),
      ],
      finish: () =>
        briefly(function* () {
          const before = yield* valueOf(sql`SELECT version FROM ${raw(ids.versions)} WHERE name = ${names.jobs}`);
          yield* run(raw(version));
          return Number(before);
        }),
      isHeldUp,
      *holder() {
        const [row] = yield* rowsOf(oldestHolder(now(offset()), Object.values(names)));
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
function versionText(names: TableNames, { versions }: Identifiers, indexes: readonly Index[]): string {
  const areThere = Object.entries(ADDED).map(([table, columns]) => has(names[table as keyof TableNames], columns));
  return `INSERT INTO ${versions} (name, version) SELECT ${literal(names.jobs)}, ${VERSION}
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
function stepTexts(names: TableNames, ids: Identifiers, adoption: string): readonly string[] {
  const { jobs, failed, queues, locks, orders, calls, batches, records, sums, versions, places } = ids;
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
    pushFunction(ids),
    pushTiedFunction(ids),
    retakeFunction(ids),
    changeBatchesFunction(ids),
    pushBatchFunction(ids),
    exchangeFunction(ids),
  ];
}

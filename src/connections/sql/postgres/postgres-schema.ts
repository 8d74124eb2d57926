/**
 * Creates the tables in PostgreSQL, or adds what is missing to Laravel's. Every statement can be run again.
 *
 * Autovacuum visits the jobs table after a fixed number of changes, as a queue may always be short and yet have millions of
 * dead rows a day. Free space on its pages takes the copy of the row that each reservation makes.
 */
import type { Seconds } from '../../../base/clock';
import { DELAYED, KNOWN_ID, NO_ID, READY, RESERVED, UNREAD_ID } from '../columns';
import type { Schema } from '../server/server-tables';
import { raw, rowsOf, run, type Sql, sql, transaction } from '../statement';
import { LARAVELS_LEASE, type TableNames } from '../table-names';
import { exchangeFunction, pushFunction } from './functions';
import { changeBatchesFunction, pushBatchFunction } from './batch-functions';
import { pushTiedFunction, retakeFunction } from './key-functions';
import { type Identifiers, identifiers, literal, quoted } from './identifiers';
import { CANCELLING, DUE, now } from './columns';
import { findings } from './findings';

const VERSION = 8;

/** The oldest server; the statements use MATERIALIZED. */
const OLDEST = { number: 120_000, text: 'PostgreSQL 12' };

/** @param offset seconds to add to the server's clock: 0 outside tests */
export function postgresSchema(names: TableNames, offset: () => Seconds = () => 0): Schema {
  const ids = identifiers(names);
  const adoption = raw(
    `UPDATE ${ids.jobs} SET lease_until = reserved_at + ${LARAVELS_LEASE} WHERE ${RESERVED} AND lease_until IS NULL`,
  );
  const statements = (): string => statementsOf(names, ids, adoption);
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
    alone: (work) =>
      transaction(function* () {
        yield* run(raw(`SELECT pg_advisory_xact_lock(hashtext('onqueue migrate'))`));
        return yield* work;
      }),
    statements: () => [raw(statements())],
    findings: () => findings(now(offset())),
    sql: () => `BEGIN;\n\n${statements()}\n\nCOMMIT;\n`,
  };
}

function statementsOf(names: TableNames, ids: Identifiers, adoption: Sql): string {
  const { jobs: name, failed: failedName, batches: batchesName, records: recordsName, sums: sumsName } = names;
  const { jobs, failed, queues, locks, orders, calls, batches, records, sums, versions, places } = ids;
  const index = (suffix: string, columns: string): string =>
    `CREATE INDEX IF NOT EXISTS ${quoted(`${name}_${suffix}`)} ON ${jobs} ${columns};`;
  return `-- The tables of Onqueue, version ${VERSION}, for ${OLDEST.text} and newer.

CREATE TABLE IF NOT EXISTS ${versions} (name text PRIMARY KEY, version integer NOT NULL);

-- Waiting and running jobs: Laravel's columns and our own.
CREATE TABLE IF NOT EXISTS ${jobs} (
  id bigserial PRIMARY KEY,
  queue text NOT NULL,
  payload text NOT NULL,
  attempts bigint NOT NULL,
  reserved_at integer,
  available_at integer NOT NULL,
  created_at integer NOT NULL
);
ALTER TABLE ${jobs}
  ADD COLUMN IF NOT EXISTS crashes bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS exceptions bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS timeouts bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS releases bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS cancelled boolean NOT NULL DEFAULT false,
  ADD COLUMN IF NOT EXISTS cancel_reason text,
  ADD COLUMN IF NOT EXISTS place bigint,
  ADD COLUMN IF NOT EXISTS due_at double precision,
  ADD COLUMN IF NOT EXISTS lease_until double precision,
  ADD COLUMN IF NOT EXISTS holder text,
  ADD COLUMN IF NOT EXISTS uuid text,
  -- The unique key that it holds and until when; and what it needs to take back a key that it holds until its start.
  ADD COLUMN IF NOT EXISTS unique_key text,
  ADD COLUMN IF NOT EXISTS unique_until double precision,
  ADD COLUMN IF NOT EXISTS start_key text,
  ADD COLUMN IF NOT EXISTS start_for double precision;
-- Laravel's attempts end at 32767, and its names at 255 characters.
ALTER TABLE ${jobs} ALTER COLUMN attempts TYPE bigint, ALTER COLUMN queue TYPE text;
-- Jobs that Laravel's workers have reserved get Laravel's lease.
${adoption.text};
ALTER TABLE ${jobs} SET (
  fillfactor = 75,
  autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000,
  autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 20000
);
CREATE SEQUENCE IF NOT EXISTS ${places};
ALTER SEQUENCE ${places} OWNED BY ${jobs}.place;
${index('ready', `(queue, place) WHERE ${READY}`)}
${index('delayed', `(queue, (${DUE}), id) WHERE ${DELAYED}`)}
${index('reserved', `(queue, lease_until) WHERE ${RESERVED}`)}
${index('uuid', `(uuid) WHERE ${KNOWN_ID}`)}
${index('unread', `(id) WHERE ${UNREAD_ID}`)}
${index('texts', `(queue, hashtext(payload)) WHERE ${NO_ID}`)}
CREATE UNIQUE INDEX IF NOT EXISTS ${quoted(`${name}_unique`)} ON ${jobs} (unique_key) WHERE unique_key IS NOT NULL;

-- Failed jobs: Laravel's columns and our own.
CREATE TABLE IF NOT EXISTS ${failed} (
  id bigserial PRIMARY KEY,
  uuid text NOT NULL,
  connection text NOT NULL,
  queue text NOT NULL,
  payload text NOT NULL,
  exception text NOT NULL,
  failed_at timestamp(0) without time zone NOT NULL DEFAULT current_timestamp
);
ALTER TABLE ${failed}
  ADD COLUMN IF NOT EXISTS raw bytea,
  ADD COLUMN IF NOT EXISTS failed_ms bigint,
  ADD COLUMN IF NOT EXISTS name text NOT NULL DEFAULT '',
  ADD COLUMN IF NOT EXISTS attempts bigint NOT NULL DEFAULT 0,
  ALTER COLUMN uuid TYPE text,
  ALTER COLUMN connection TYPE text,
  ALTER COLUMN queue TYPE text;
CREATE UNIQUE INDEX IF NOT EXISTS ${quoted(`${failedName}_uuid_unique`)} ON ${failed} (uuid);
CREATE INDEX IF NOT EXISTS ${quoted(`${failedName}_queue`)} ON ${failed} (queue, id);

-- The queues that were pushed to, locks, orders to workers, and the last answers to clients.
CREATE TABLE IF NOT EXISTS ${queues} (name text PRIMARY KEY);
CREATE TABLE IF NOT EXISTS ${locks} (name text PRIMARY KEY, token text NOT NULL, expires_at double precision NOT NULL);
CREATE INDEX IF NOT EXISTS ${quoted(`${name}_locks_expires_at`)} ON ${locks} (expires_at);
CREATE TABLE IF NOT EXISTS ${orders} (kind text NOT NULL, value text NOT NULL, PRIMARY KEY (kind, value));
-- When a pause ends; NULL: when it is resumed.
ALTER TABLE ${orders} ADD COLUMN IF NOT EXISTS ends_at double precision;
CREATE TABLE IF NOT EXISTS ${calls} (
  client text PRIMARY KEY, call bigint NOT NULL, called_at integer NOT NULL, answer bigint[]
) WITH (fillfactor = 50);
-- Who held the keys of pushed jobs.
ALTER TABLE ${calls} ADD COLUMN IF NOT EXISTS held text;

-- Batches: how many of their jobs are left, and what they send. Each of these jobs updates the row, which leaves copies on its page.
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
CREATE INDEX IF NOT EXISTS ${quoted(`${batchesName}_created`)} ON ${batches} (created_at);
CREATE INDEX IF NOT EXISTS ${quoted(`${batchesName}_finished`)} ON ${batches} (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS ${quoted(`${batchesName}_cancelling`)} ON ${batches} (id) WHERE ${CANCELLING};

-- Records about jobs, which expire, and sums. Texts are compared byte by byte.
CREATE TABLE IF NOT EXISTS ${records} (
  kind text COLLATE "C" NOT NULL,
  id text COLLATE "C" NOT NULL,
  value text NOT NULL,
  ends_at double precision NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX IF NOT EXISTS ${quoted(`${recordsName}_kind`)} ON ${records} (kind, ends_at, id);
CREATE INDEX IF NOT EXISTS ${quoted(`${recordsName}_ends`)} ON ${records} (ends_at);
CREATE TABLE IF NOT EXISTS ${sums} (
  name text COLLATE "C" NOT NULL,
  field text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  ends_at double precision NOT NULL,
  PRIMARY KEY (name, field)
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS ${quoted(`${sumsName}_ends`)} ON ${sums} (ends_at);

${pushFunction(ids)}

${pushTiedFunction(ids)}

${retakeFunction(ids)}

${changeBatchesFunction(ids)}

${pushBatchFunction(ids)}

${exchangeFunction(ids)}

INSERT INTO ${versions} (name, version) VALUES (${literal(name)}, ${VERSION})
  ON CONFLICT (name) DO UPDATE SET version = excluded.version;`;
}

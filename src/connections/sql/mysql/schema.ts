/**
 * Creates the tables in MySQL and MariaDB, or adds what is missing to Laravel's. Every statement can be run again, as
 * neither server can roll back a change of a table.
 *
 * Payloads are bytes: Laravel's text column would refuse what is not UTF-8, and its programs can read and write the byte
 * column like text. Names are compared exactly, which Laravel's collation does not do.
 */
import { isOlder } from '../../kit/requirements';
import { HeldUp, type Schema, type Server, LONG, oldTransactionWarning, type OldTransaction } from '../server/tables';
import { LARAVELS_LEASE, sinceRow } from '../address';
import { inline } from './pool';
import { isHeldUp } from './errors';
import { raw, rowsOf, run, runEach, sql, valueOf, type Sql, type SqlRow, type Work } from '../statement';
import { DELAYED, type MysqlNames, READY, RESERVED } from './rows';
import type { Diagnosis } from '../../contract';

const VERSION = 6;
/** Stays behind the version where a step only adds what older programs can leave alone. */
const SINCE = 6;

/** The oldest servers with SKIP LOCKED. */
const OLDEST = { MySQL: '8.0.11', MariaDB: '10.6' } as const;
const NEEDED = `MySQL ${OLDEST.MySQL} or MariaDB ${OLDEST.MariaDB}`;

/** How long a change waits for the transactions that use its table, in seconds: everybody else would wait behind it. */
const PATIENCE = raw('SET SESSION lock_wait_timeout = 1');
const IMPATIENCE = raw('SET SESSION lock_wait_timeout = DEFAULT');

/** While an index is built, others read and write the table. */
const ONLINE = raw('ALGORITHM = INPLACE, LOCK = NONE');

export function mysqlSchema(ids: MysqlNames): Schema {
  const { given: names, jobs, turns, versions } = ids;
  // By the index, queue by queue, as millions may be waiting.
  const adoption = sql`UPDATE (SELECT DISTINCT queue AS name FROM ${jobs} FORCE INDEX (${turns})) AS known
  STRAIGHT_JOIN ${jobs} AS job FORCE INDEX (${turns}) ON job.queue = known.name AND job.state = ${RESERVED} AND job.turn IS NULL
  SET lease_until = reserved_at + ${LARAVELS_LEASE}`;
  const statements = (): readonly Sql[] => statementsOf(ids, adoption);
  const writeVersion = sql`REPLACE INTO ${versions} (name, version) VALUES (${names.jobs}, ${VERSION}), (${sinceRow(names)}, ${SINCE})`;
  const indexes = [
    [names.jobs, `${names.jobs}_turns`],
    [names.jobs, `${names.jobs}_ids`],
    [names.jobs, `${names.jobs}_laned`],
    [names.failed, 'onqueue_uuid'],
    [names.failed, 'onqueue_queue'],
  ] as const;
  return {
    version: VERSION,
    names,
    versions,
    adoption,
    *server() {
      return serverOf(String(yield* valueOf(raw('SELECT VERSION()'))));
    },
    columns: (tables) =>
      rowsOf(
        sql`SELECT table_name, LOWER(column_name), data_type FROM information_schema.columns
          WHERE table_schema = DATABASE() AND table_name IN (${tables})`,
      ),
    *lack() {
      const rows = yield* rowsOf(
        sql`SELECT DISTINCT table_name, index_name FROM information_schema.statistics
          WHERE table_schema = DATABASE() AND table_name IN (${indexes.map(([table]) => table)})`,
      );
      const there = new Set(rows.map(([table, index]) => `${String(table)}.${String(index)}`));
      const missing = indexes.find(([table, index]) => !there.has(`${table}.${index}`));
      return missing && `the index ${missing[1]} of ${missing[0]} is missing`;
    },
    migration: () => ({
      *begin() {
        if (Number(yield* valueOf(raw("SELECT GET_LOCK('onqueue migrate', 0)"))) !== 1) throw new HeldUp();
        yield* run(PATIENCE);
      },
      *end() {
        yield* runEach([IMPATIENCE, raw("DO RELEASE_LOCK('onqueue migrate')")]);
      },
      steps: statements().map((statement) => () => run(statement)),
      *finish() {
        const before = yield* valueOf(sql`SELECT version FROM ${versions} WHERE name = ${names.jobs}`);
        yield* run(writeVersion);
        return Number(before);
      },
      isHeldUp,
      *holder() {
        const oldest = yield* oldestTransaction(ids.now());
        return oldest && { ...oldest, table: `${names.jobs} or another table` };
      },
      pause: (seconds) => sql`DO SLEEP(${seconds})`,
    }),
    findings: () => findings(ids.now()),
    sql: () => {
      const texts = [PATIENCE, ...statements(), writeVersion, IMPATIENCE].map(
        (statement) => `${inline(statement).replaceAll(/_utf8mb4 X'([\da-f]*)'/g, plain)};`,
      );
      return `-- The tables of Onqueue, version ${VERSION}, for ${NEEDED} and newer. Each statement can be run again, beside workers
-- and dispatches. If one fails because of lock_wait_timeout, a transaction holds the table: run all again when it has ended.

${texts.join('\n\n')}
`;
    },
  };
}

function statementsOf(ids: MysqlNames, adoption: Sql): readonly Sql[] {
  const names = ids.given;
  const { jobs, turns, failed, queues, locks, orders, calls, uniqueKeys, batches, records, sums, lanes, versions } =
    ids;
  const index = (table: Sql, name: Sql, columns: string, kind = 'INDEX'): Sql =>
    sql`ALTER TABLE ${table} ADD ${raw(kind)} ${name} ${raw(columns)}, ${ONLINE}`;
  return [
    sql`CREATE TABLE IF NOT EXISTS ${versions} (
  name VARCHAR(64) NOT NULL PRIMARY KEY,
  version INT NOT NULL
) ${TABLE}`,
    sql`-- Waiting and running jobs: Laravel's columns first.
CREATE TABLE IF NOT EXISTS ${jobs} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  queue VARCHAR(255) NOT NULL,
  payload LONGTEXT NOT NULL,
  attempts TINYINT UNSIGNED NOT NULL,
  reserved_at INT UNSIGNED NULL,
  available_at INT UNSIGNED NOT NULL,
  created_at INT UNSIGNED NOT NULL
) ${TABLE}`,
    ...unlessThere(
      names.jobs,
      'lease_until',
      sql`ALTER TABLE ${jobs}
  MODIFY queue VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  MODIFY payload LONGBLOB NOT NULL,
  MODIFY attempts BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN crashes BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN exceptions BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN timeouts BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN releases BIGINT NOT NULL DEFAULT 0,
  ADD COLUMN cancelled TINYINT NOT NULL DEFAULT 0,
  ADD COLUMN place BIGINT NULL,
  ADD COLUMN due_at DECIMAL(16, 6) NULL,
  ADD COLUMN lease_until DECIMAL(16, 6) NULL,
  ADD COLUMN holder VARBINARY(64) NULL,
  ADD COLUMN uuid VARBINARY(255) NULL,
  ADD COLUMN size INT UNSIGNED GENERATED ALWAYS AS (OCTET_LENGTH(payload)) STORED,
  ADD COLUMN state TINYINT GENERATED ALWAYS AS (
    CASE WHEN reserved_at IS NOT NULL THEN ${RESERVED} WHEN place IS NOT NULL THEN ${READY} ELSE ${DELAYED} END) STORED,
  ADD COLUMN turn DECIMAL(18, 6) GENERATED ALWAYS AS (
    CASE WHEN reserved_at IS NOT NULL THEN lease_until WHEN place IS NOT NULL THEN place ELSE COALESCE(due_at, available_at) END) STORED,
  ADD INDEX ${turns} (queue, state, turn),
  ADD INDEX ${ids.ids} (uuid, size)`,
    ),
    ...unlessThere(names.jobs, 'cancel_reason', sql`ALTER TABLE ${jobs} ADD COLUMN cancel_reason VARCHAR(255) NULL`),
    ...unlessThere(
      names.jobs,
      'lane_order',
      sql`-- Its lane, how many of its jobs may be in (0: one, in order), and whether it is in (0) or held, in this order; NULL: it has no
-- lane, or is delayed.
ALTER TABLE ${jobs}
  ADD COLUMN lane VARBINARY(64) NULL,
  ADD COLUMN lane_limit BIGINT NULL,
  ADD COLUMN lane_order BIGINT NULL,
  ALGORITHM = INSTANT`,
    ),
    ...unlessIndexed(names.jobs, `${names.jobs}_laned`, index(jobs, ids.laned, '(queue, lane, lane_order)')),
    ...unlessIndexed(names.jobs, `${names.jobs}_turns`, index(jobs, turns, '(queue, state, turn)')),
    ...unlessIndexed(names.jobs, `${names.jobs}_ids`, index(jobs, ids.ids, '(uuid, size)')),
    // Laravel's attempts end at 255.
    ...unlessThere(
      names.jobs,
      'attempts',
      sql`ALTER TABLE ${jobs} MODIFY attempts BIGINT NOT NULL DEFAULT 0`,
      raw("data_type = 'bigint'"),
    ),
    sql`-- Jobs that Laravel's workers have reserved get Laravel's lease.\n${adoption}`,
    sql`-- Failed jobs: Laravel's columns first.
CREATE TABLE IF NOT EXISTS ${failed} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  uuid VARCHAR(255) NOT NULL,
  connection TEXT NOT NULL,
  queue TEXT NOT NULL,
  payload LONGTEXT NOT NULL,
  exception LONGTEXT NOT NULL,
  failed_at TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
) ${TABLE}`,
    ...unlessThere(
      names.failed,
      'failed_ms',
      sql`ALTER TABLE ${failed}
  MODIFY uuid VARBINARY(255) NOT NULL,
  MODIFY queue VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  MODIFY payload LONGBLOB NOT NULL,
  MODIFY connection TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  MODIFY exception LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  ADD COLUMN failed_ms BIGINT NULL,
  ADD COLUMN name TEXT NULL,
  ADD COLUMN attempts BIGINT NOT NULL DEFAULT 0,
  ADD UNIQUE INDEX onqueue_uuid (uuid),
  ADD INDEX onqueue_queue (queue, id)`,
    ),
    ...unlessIndexed(names.failed, 'onqueue_uuid', index(failed, raw('onqueue_uuid'), '(uuid)', 'UNIQUE INDEX')),
    ...unlessIndexed(names.failed, 'onqueue_queue', index(failed, raw('onqueue_queue'), '(queue, id)')),
    sql`-- The queues that were pushed to, locks, orders to workers, and the last answers to clients.
CREATE TABLE IF NOT EXISTS ${queues} (name VARCHAR(255) NOT NULL PRIMARY KEY) ${TABLE}`,
    sql`CREATE TABLE IF NOT EXISTS ${locks} (
  name VARBINARY(255) NOT NULL PRIMARY KEY,
  token VARBINARY(255) NOT NULL,
  expires_at DECIMAL(16, 6) NOT NULL,
  INDEX expires_at (expires_at)
) ${TABLE}`,
    sql`CREATE TABLE IF NOT EXISTS ${orders} (
  kind VARBINARY(16) NOT NULL,
  value VARCHAR(255) NOT NULL,
  PRIMARY KEY (kind, value)
) ${TABLE}`,
    ...unlessThere(
      names.orders,
      'ends_at',
      sql`-- When a pause ends; NULL: when it is resumed.
ALTER TABLE ${orders} ADD COLUMN ends_at DECIMAL(20, 6) NULL`,
    ),
    ...unlessThere(
      names.orders,
      'amount',
      sql`-- How many jobs of a queue may run at a time.
ALTER TABLE ${orders} ADD COLUMN amount BIGINT NULL`,
    ),
    sql`CREATE TABLE IF NOT EXISTS ${calls} (
  client VARBINARY(36) NOT NULL PRIMARY KEY,
  number BIGINT UNSIGNED NOT NULL,
  called_at BIGINT NOT NULL,
  settled MEDIUMTEXT NULL,
  lease_until DECIMAL(16, 6) NULL
) ${TABLE}`,
    sql`-- Which job took each unique key last. With \`attempts\`, it holds the key while it has no more attempts than that.
CREATE TABLE IF NOT EXISTS ${uniqueKeys} (
  unique_key VARBINARY(32) NOT NULL PRIMARY KEY,
  holder VARBINARY(255) NULL,
  ends_at DECIMAL(16, 6) NULL,
  attempts BIGINT NULL,
  -- For a debounced job: its row, and when it is due.
  job BIGINT UNSIGNED NULL,
  due_at DECIMAL(16, 6) NULL
) ${TABLE}`,
    sql`-- How many jobs of each batch are left, and what it sends.
CREATE TABLE IF NOT EXISTS ${batches} (
  id VARBINARY(255) NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  allows_failures TINYINT NOT NULL,
  pending BIGINT NOT NULL,
  completed BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  skipped BIGINT NOT NULL,
  created_at DECIMAL(16, 6) NOT NULL,
  finished_at DECIMAL(16, 6) NULL,
  cancelled_at DECIMAL(16, 6) NULL,
  open_until DECIMAL(16, 6) NULL,
  open_for DECIMAL(16, 6) NULL,
  every_jobs BIGINT NULL,
  sent VARCHAR(255) NOT NULL,
  callbacks LONGTEXT NOT NULL,
  INDEX ends (finished_at, cancelled_at),
  INDEX created_at (created_at)
) ${TABLE}`,
    sql`-- Records about jobs, which expire, and sums.
CREATE TABLE IF NOT EXISTS ${records} (
  kind VARBINARY(80) NOT NULL,
  id VARBINARY(1020) NOT NULL,
  value LONGBLOB NOT NULL,
  ends_at DECIMAL(16, 6) NOT NULL,
  PRIMARY KEY (kind, id),
  INDEX kind (kind, ends_at, id),
  INDEX ends_at (ends_at)
) ${TABLE}`,
    sql`CREATE TABLE IF NOT EXISTS ${sums} (
  name VARBINARY(400) NOT NULL,
  field VARBINARY(1020) NOT NULL,
  amount BIGINT NOT NULL,
  ends_at DECIMAL(16, 6) NOT NULL,
  PRIMARY KEY (name, field),
  INDEX ends_at (ends_at)
) ${TABLE}`,
    sql`-- Lanes with jobs: how many may be in, as the last of these jobs said (0: one, in order), and what was set by hand.
CREATE TABLE IF NOT EXISTS ${lanes} (
  queue VARCHAR(255) NOT NULL,
  lane VARBINARY(64) NOT NULL,
  running BIGINT NOT NULL DEFAULT 1,
  own_limit BIGINT NULL,
  paused TINYINT NOT NULL DEFAULT 0,
  PRIMARY KEY (queue, lane)
) ${TABLE}`,
  ];
}

/** MySQL has no ADD COLUMN IF NOT EXISTS: the statement is chosen by whether there is such a column. */
function unlessThere(table: string, column: string, alter: Sql, isRight = raw('TRUE')): readonly Sql[] {
  return unless(
    sql`information_schema.columns
    WHERE table_schema = DATABASE() AND table_name = ${table} AND column_name = ${column} AND ${isRight}`,
    alter,
  );
}

function unlessIndexed(table: string, name: string, alter: Sql): readonly Sql[] {
  return unless(
    sql`information_schema.statistics
    WHERE table_schema = DATABASE() AND table_name = ${table} AND index_name = ${name}`,
    alter,
  );
}

function unless(found: Sql, alter: Sql): readonly Sql[] {
  return [
    sql`SET @onqueue_alter = IF(EXISTS (
    SELECT 1 FROM ${found}
  ), 'DO 0', ${inline(alter)})`,
    sql`PREPARE onqueue_alter FROM @onqueue_alter`,
    sql`EXECUTE onqueue_alter`,
    sql`DEALLOCATE PREPARE onqueue_alter`,
  ];
}

const TABLE = sql`ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin ROW_FORMAT = DYNAMIC`;

/** For display: none of our texts contains characters that need escaping. */
const plain = (_: string, digits: string): string => `'${Buffer.from(digits, 'hex').toString()}'`;

/** Reads `8.0.36-0ubuntu0`, `10.11.4-MariaDB-1`, or `5.5.5-10.5.1-MariaDB` of an old server. */
function serverOf(version: string): Server {
  const product = /mariadb/i.test(version) ? 'MariaDB' : 'MySQL';
  const number = /[\d.]+/.exec(version.replace(/^5\.5\.5-/, ''))?.[0] ?? version;
  return { server: `${product} ${number}`, needed: isOlder(number, OLDEST[product]) ? NEEDED : undefined };
}

/** @param now the current time */
export function* findings(now: Sql): Work<readonly Diagnosis[]> {
  const found: Diagnosis[] = [];
  if (Number(yield* valueOf(raw('SELECT @@global.read_only'))) !== 0) {
    const message = 'this server is read-only (read_only is on); give the address of its primary.';
    found.push({ level: 'warning', subject: 'writes', message });
  }
  const old = yield* oldestTransaction(now);
  if (old === undefined || old.age <= LONG) return found;
  return [...found, oldTransactionWarning(old)];
}

/** The oldest one of somebody else; undefined also if this user may not see those of others. */
function* oldestTransaction(now: Sql): Work<OldTransaction | undefined> {
  let rows: readonly SqlRow[];
  try {
    // The table has the local time of the server.
    rows = yield* rowsOf(
      sql`SELECT CONCAT('thread ', trx_mysql_thread_id), ${now} - UNIX_TIMESTAMP(CONVERT_TZ(trx_started, 'SYSTEM', '+00:00'))
        FROM information_schema.innodb_trx WHERE trx_mysql_thread_id NOT IN (0, CONNECTION_ID()) ORDER BY trx_started LIMIT 1`,
    );
  } catch {
    return undefined;
  }
  const [row] = rows;
  return row && { who: String(row[0]), age: Number(row[1]) };
}

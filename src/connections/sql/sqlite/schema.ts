/**
 * Creates the tables when a file is first used, upgrades those of older versions in place, and checks that existing tables
 * are ours; and how statements use their columns.
 */
import {
  DELAYED,
  KNOWN_ID,
  READY,
  RESERVED,
  UNREAD_ID,
  indexedLine,
  MOST_COUNTED,
  type Dialect,
  type FailedColumns,
  type Line,
} from '../dialect';
import { foreignTable, newerTables } from '../errors';
import type { SqliteDatabase } from './engine';
import { areTooNew, sinceRow, VERSIONS_TABLE, type TableNames } from '../address';
import { isUtf8 } from 'node:buffer';
import type { Seconds } from '../../../base/clock';
import { raw, sql, type Sql, type SqlValue } from '../statement';

/** The length in bytes, read without the text. SQLite has known it since 3.43, so it may not be part of the file. */
export const TEXT_LENGTH = 'octet_length(payload)';
/**
 * The columns of an index that together tell payloads apart, without a copy of the whole payload: ids are at the end.
 * Written so that every program of SQLite 3.35 or newer can check and vacuum the file.
 */
export const INDEXED_LENGTH = 'length(CAST(payload AS BLOB))';
export const INDEXED_END = 'substr(CAST(payload AS BLOB), -64)';

const textsIndex = ({ jobs }: TableNames): string =>
  `CREATE INDEX ${jobs}_texts ON ${jobs} (queue, ${INDEXED_LENGTH}, ${INDEXED_END}) WHERE ${DELAYED};`;

/**
 * Times are seconds since 1970, with a fraction. `id` is never reused, as it is part of what identifies a reservation. The
 * indexes include `reserved_at` although its value follows from the condition, so that counting reads only the index.
 */
const firstTables = (names: TableNames): string => `
  CREATE TABLE ${names.jobs} (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    payload TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    reserved_at REAL,
    available_at REAL NOT NULL,
    created_at REAL NOT NULL,
    crashes INTEGER NOT NULL DEFAULT 0,
    exceptions INTEGER NOT NULL DEFAULT 0,
    releases INTEGER NOT NULL DEFAULT 0,
    place INTEGER,
    lease_until REAL
  );
  CREATE INDEX ${names.jobs}_ready ON ${names.jobs} (queue, place, reserved_at) WHERE ${READY};
  CREATE INDEX ${names.jobs}_delayed ON ${names.jobs} (queue, place, reserved_at, available_at) WHERE ${DELAYED};
  ${textsIndex(names)}
  CREATE INDEX ${names.jobs}_reserved ON ${names.jobs} (queue, lease_until, reserved_at) WHERE ${RESERVED};
  CREATE TABLE ${names.failed} (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid TEXT NOT NULL UNIQUE,
    connection TEXT NOT NULL,
    queue TEXT NOT NULL,
    payload TEXT NOT NULL,
    exception TEXT NOT NULL,
    failed_at REAL NOT NULL,
    name TEXT NOT NULL DEFAULT '',
    attempts INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX ${names.failed}_queue ON ${names.failed} (queue);
  CREATE INDEX ${names.failed}_failed_at ON ${names.failed} (failed_at);
  CREATE TABLE ${names.queues} (name TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE ${names.locks} (
    name TEXT PRIMARY KEY,
    token TEXT NOT NULL,
    expires_at REAL NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX ${names.locks}_expires_at ON ${names.locks} (expires_at);
`;

/**
 * A process of the first version may go on beside this one: it leaves the new columns alone. `uuid` is the `id` in the
 * payload, '' if there is none, and NULL if nobody has read it yet: filling it in here would block the file.
 */
const orderTables = (names: TableNames): string => `
  ALTER TABLE ${names.jobs} ADD COLUMN timeouts INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE ${names.jobs} ADD COLUMN cancelled INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE ${names.jobs} ADD COLUMN uuid TEXT;
  CREATE INDEX ${names.jobs}_uuid ON ${names.jobs} (uuid) WHERE ${KNOWN_ID};
  CREATE INDEX ${names.jobs}_unread ON ${names.jobs} (uuid) WHERE ${UNREAD_ID};
  CREATE TABLE ${names.orders} (kind TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (kind, value)) WITHOUT ROWID;
`;

/** When a pause ends, and why a job was cancelled. */
const endsAndReasons = (names: TableNames): string => `
  ALTER TABLE ${names.orders} ADD COLUMN ends_at REAL;
  ALTER TABLE ${names.jobs} ADD COLUMN cancel_reason TEXT;
`;

/** The unique key that a job holds and until when; and what a job needs to take back a key that it holds until its start. */
const uniqueKeys = (names: TableNames): string => `
  ALTER TABLE ${names.jobs} ADD COLUMN unique_key TEXT;
  ALTER TABLE ${names.jobs} ADD COLUMN unique_until REAL;
  ALTER TABLE ${names.jobs} ADD COLUMN start_key TEXT;
  ALTER TABLE ${names.jobs} ADD COLUMN start_for REAL;
  CREATE UNIQUE INDEX ${names.jobs}_unique ON ${names.jobs} (unique_key) WHERE unique_key IS NOT NULL;
`;

/** How many jobs of each batch are left, and what it sends, as JSON. */
const batchTables = (names: TableNames): string => `
  CREATE TABLE ${names.batches} (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL,
    allows_failures INTEGER NOT NULL,
    pending INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    skipped INTEGER NOT NULL,
    created_at REAL NOT NULL,
    finished_at REAL,
    cancelled_at REAL,
    open_until REAL,
    open_for REAL,
    every_jobs INTEGER,
    sent TEXT NOT NULL,
    callbacks TEXT NOT NULL
  );
  CREATE INDEX ${names.batches}_ends ON ${names.batches} (finished_at, cancelled_at);
  CREATE INDEX ${names.batches}_created_at ON ${names.batches} (created_at);
`;

/** Records about jobs, which expire, and sums. */
const recordTables = (names: TableNames): string => `
  CREATE TABLE ${names.records} (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    value TEXT NOT NULL,
    ends_at REAL NOT NULL,
    PRIMARY KEY (kind, id)
  );
  CREATE INDEX ${names.records}_kind ON ${names.records} (kind, ends_at, id);
  CREATE INDEX ${names.records}_ends ON ${names.records} (ends_at);
  CREATE TABLE ${names.sums} (
    name TEXT NOT NULL,
    field TEXT NOT NULL,
    amount INTEGER NOT NULL,
    ends_at REAL NOT NULL,
    PRIMARY KEY (name, field)
  ) WITHOUT ROWID;
  CREATE INDEX ${names.sums}_ends ON ${names.sums} (ends_at);
`;

/** The index of the first versions had an expression that SQLite before 3.43 does not know. */
const readableIndex = (names: TableNames): string => `
  DROP INDEX IF EXISTS ${names.jobs}_texts;
  ${textsIndex(names)}
`;

/** How many jobs of a queue may run at a time. */
const limits = (names: TableNames): string => `
  ALTER TABLE ${names.orders} ADD COLUMN amount INTEGER;
`;

/**
 * The lane of a job, how many of its jobs may be in (0: one, in order), and whether it is in (0) or held, in this order; NULL: it has
 * no lane, or is delayed. `running` is what the last job of a lane said, `own_limit` what was set by hand.
 */
const laneTables = (names: TableNames): string => `
  ALTER TABLE ${names.jobs} ADD COLUMN lane TEXT;
  ALTER TABLE ${names.jobs} ADD COLUMN lane_limit INTEGER;
  ALTER TABLE ${names.jobs} ADD COLUMN lane_order INTEGER;
  CREATE INDEX ${names.jobs}_laned ON ${names.jobs} (queue, lane, lane_order) WHERE lane_order IS NOT NULL;
  CREATE TABLE ${names.lanes} (
    queue TEXT NOT NULL,
    lane TEXT NOT NULL,
    running INTEGER NOT NULL DEFAULT 1,
    own_limit INTEGER,
    paused INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (queue, lane)
  ) WITHOUT ROWID;
`;

interface Step {
  /** The tables that it creates. */
  readonly tables: readonly (keyof TableNames)[];
  readonly statements: (names: TableNames) => string;
}

/** Each step leads from one version to the next. New tables go through all of them, so that there is only one way. */
const STEPS: readonly Step[] = [
  { tables: ['jobs', 'failed', 'queues', 'locks'], statements: firstTables },
  { tables: ['orders'], statements: orderTables },
  { tables: [], statements: endsAndReasons },
  { tables: [], statements: uniqueKeys },
  { tables: ['batches'], statements: batchTables },
  { tables: ['records', 'sums'], statements: recordTables },
  { tables: [], statements: readableIndex },
  { tables: [], statements: limits },
  { tables: ['lanes'], statements: laneTables },
];

/** The version of the tables that our statements need. */
export const TABLES_VERSION = STEPS.length;
/** Stays behind the version where a step only adds what older programs can leave alone. */
const SINCE = 9;

/** What `prepareTables` runs on a file without tables. */
export function tablesSql(names: TableNames): string {
  const steps = STEPS.map(({ statements }) => statements(names).replaceAll(/^ {2}/gm, '').trim());
  return [...steps, ...versionStatements(names)].join('\n\n') + '\n';
}

/**
 * Writes only if something is missing; returns the version that it found. Throws SQLite's own error if others have the file
 * locked.
 *
 * @throws E_DATABASE_FOREIGN_TABLE
 * @throws E_DATABASE_NEWER_TABLES
 */
export function prepareTables(database: SqliteDatabase, names: TableNames, file: string): number {
  const version = versionOf(database, names, file);
  if (version >= STEPS.length) return version;
  database.exec('BEGIN IMMEDIATE');
  try {
    // Another process may have created them while this one waited.
    const found = versionOf(database, names, file);
    const steps = STEPS.slice(found);
    if (steps.length > 0) makeTables(database, names, file, steps);
    database.exec('COMMIT');
    return found;
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** 0 if there are no tables. */
function versionOf(database: SqliteDatabase, names: TableNames, file: string): number {
  if (!exists(database, VERSIONS_TABLE)) return 0;
  const read = database.prepare(`SELECT version FROM ${VERSIONS_TABLE} WHERE name = ? COLLATE NOCASE`);
  const found = Number(read.get([names.jobs])?.[0] ?? 0);
  const since = read.get([sinceRow(names)])?.[0];
  if (areTooNew(found, since === undefined ? undefined : Number(since), STEPS.length))
    throw newerTables(file, found, STEPS.length);
  return found;
}

function makeTables(database: SqliteDatabase, names: TableNames, file: string, steps: readonly Step[]): void {
  for (const name of steps.flatMap(({ tables }) => tables.map((table) => names[table]))) {
    if (exists(database, name)) throw foreignTable(file, name);
  }
  for (const { statements } of steps) database.exec(statements(names));
  for (const statement of versionStatements(names)) database.exec(statement);
}

function versionStatements(names: TableNames): readonly string[] {
  const { jobs } = names;
  const since = sinceRow(names);
  return [
    `CREATE TABLE IF NOT EXISTS ${VERSIONS_TABLE} (name TEXT PRIMARY KEY, version INTEGER NOT NULL);`,
    `DELETE FROM ${VERSIONS_TABLE} WHERE name COLLATE NOCASE IN ('${jobs}', '${since}');`,
    `INSERT INTO ${VERSIONS_TABLE} (name, version) VALUES ('${jobs}', ${STEPS.length}), ('${since}', ${SINCE});`,
  ];
}

function exists(database: SqliteDatabase, table: string): boolean {
  return database.prepare('SELECT 1 FROM sqlite_master WHERE name = ? COLLATE NOCASE').get([table]) !== undefined;
}

/** A payload as text if it is valid UTF-8, so that any client can show it. */
export function storable(payload: string | Buffer): string | Buffer {
  return typeof payload === 'string' || !isUtf8(payload) ? payload : payload.toString();
}

/** Reads a text column safely: a text that is not UTF-8 would end the process. */
export const read = (column: string): Sql => raw(`CAST(${column} AS BLOB)`);

export const sqliteLine = (tables: Dialect['tables']): Line =>
  indexedLine(tables, 'available_at', {
    along: { reserved: raw('lease_until') },
    hasLease: raw('lease_until IS NOT NULL'),
    payload: storable,
  });

/** Beyond these bounds a number has no room left. */
const IN_LINE = `place BETWEEN -${MOST_COUNTED} AND ${MOST_COUNTED}`;

/** The first or last place in line. @param queue as written in the statement */
export const endOfLine = (jobs: string, which: 'min' | 'max', queue: string): string =>
  `(SELECT ${which}(place) FROM ${jobs} WHERE queue = ${queue} AND ${READY} AND ${IN_LINE})`;

export const tailOf = (jobs: string, queue: string): string => `ifnull(${endOfLine(jobs, 'max', queue)}, 0)`;

/** Makes statements of texts that are built once: prepared statements are found by their text. */
export const statementsOf = <Name extends string>(texts: Readonly<Record<Name, string>>) => ({
  to: (name: Name, values: readonly SqlValue[]): Sql => ({ text: texts[name], values }),
  /** For a statement that returns one row. */
  one: (name: Name, values: readonly SqlValue[]): Sql => ({ text: texts[name], values, one: true }),
});

export function failedColumns(now: () => Seconds): FailedColumns {
  const payload = raw('CAST(payload AS BLOB)');
  return {
    alongQueue: raw(''),
    // No bounds: of two bounds SQLite uses the first that it finds, and would go from there to wherever the page begins.
    all: raw('TRUE'),
    payload,
    payloadOf: (value) => value as Buffer,
    storedPayload: (bytes) => ({ payload: storable(bytes) }),
    hasPayload: (bytes) => sql`${payload} = ${bytes}`,
    contains: (column, text) => sql`instr(${raw(column)}, ${text}) > 0`,
    failedAt: raw('round(failed_at * 1000)'),
    failedNow: () => ({ failed_at: Math.round(now() * 1000) / 1000 }),
  };
}

/** A file with the first version of the tables. */
import { openSqlite, type SqliteDatabase } from '../../../src/connections/sql/sqlite/engine';
import { payload } from './open-database';

const TABLES = `
  CREATE TABLE onqueue_versions (name TEXT PRIMARY KEY, version INTEGER NOT NULL);
  CREATE TABLE jobs (
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
  CREATE INDEX jobs_ready ON jobs (queue, place, reserved_at) WHERE place IS NOT NULL AND reserved_at IS NULL;
  CREATE INDEX jobs_delayed ON jobs (queue, place, reserved_at, available_at) WHERE place IS NULL AND reserved_at IS NULL;
  CREATE INDEX jobs_texts ON jobs (queue, octet_length(payload), substr(CAST(payload AS BLOB), -64))
    WHERE place IS NULL AND reserved_at IS NULL;
  CREATE INDEX jobs_reserved ON jobs (queue, lease_until, reserved_at) WHERE reserved_at IS NOT NULL;
  CREATE TABLE failed_jobs (
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
  CREATE INDEX failed_jobs_queue ON failed_jobs (queue);
  CREATE INDEX failed_jobs_failed_at ON failed_jobs (failed_at);
  CREATE TABLE jobs_queues (name TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE jobs_locks (name TEXT PRIMARY KEY, token TEXT NOT NULL, expires_at REAL NOT NULL) WITHOUT ROWID;
  CREATE INDEX jobs_locks_expires_at ON jobs_locks (expires_at);
  INSERT INTO onqueue_versions (name, version) VALUES ('jobs', 1);
  INSERT INTO jobs_queues (name) VALUES ('default');
`;

/** One job in each state and a failed one. `now` is in seconds since 1970. */
const JOBS = (now: number): string => `
  INSERT INTO jobs (queue, payload, attempts, reserved_at, available_at, created_at, crashes, exceptions, releases, place, lease_until)
  VALUES
    ('default', '${payload('ready')}', 0, NULL, ${now}, ${now}, 0, 0, 0, 3, NULL),
    ('default', '${payload('given-back')}', 2, NULL, ${now}, ${now}, 1, 2, 4, 2, NULL),
    ('default', '${payload('delayed')}', 0, NULL, ${now + 500}, ${now}, 0, 0, 0, NULL, NULL),
    ('default', '${payload('running')}', 1, ${now}, ${now}, ${now}, 0, 0, 0, 0, ${now + 300}),
    ('default', '${payload('silent')}', 1, ${now}, ${now}, ${now}, 0, 0, 0, 1, ${now - 1});
  INSERT INTO failed_jobs (uuid, connection, queue, payload, exception, failed_at, name, attempts)
  VALUES ('failed', 'database', 'default', '${payload('failed')}', 'Error: probe', ${now}, 'probe', 3);
`;

/** Creates the file. Without `now` it contains no jobs. */
export function makeFirstVersion(file: string, now?: number): SqliteDatabase {
  const database = openSqlite(file, 1000);
  database.prepare('PRAGMA journal_mode = WAL').get([]);
  database.exec(TABLES);
  if (now !== undefined) database.exec(JOBS(now));
  return database;
}

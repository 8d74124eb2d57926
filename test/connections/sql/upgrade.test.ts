import type { SqlConnection } from '../../../src/connections/sql/connection';
import { openSqlite, type SqliteDatabase } from '../../../src/connections/sql/sqlite/engine';
import { tableNames } from '../../../src/connections/sql/address';
import { prepareTables } from '../../../src/connections/sql/sqlite/schema';
import { TestClock } from '../../../src/testing/test-clock';
import { Child } from '../../support/child-process';
import { makeFirstVersion } from './first-version';
import { idOf, payload, reserve, TemporaryDatabase } from './open-database';

let database: TemporaryDatabase;
let clock: TestClock;

beforeEach(() => {
  database = new TemporaryDatabase();
  clock = new TestClock();
});

afterEach(() => database.dispose());

function upgraded(): SqlConnection {
  makeFirstVersion(database.file, clock.now() / 1000);
  return database.connect({}, { clock });
}

describe('a file of the first version', () => {
  it('keeps its jobs in their states', async () => {
    const connection = upgraded();
    expect(await connection.queues.counts('default')).toEqual({ ready: 2, delayed: 1, reserved: 2 });
    expect(await connection.queues.names()).toEqual(['default']);
  });

  it('hands out its jobs in their order, with their counters', async () => {
    const connection = upgraded();
    const reservations = await reserve(connection, { lease: 6_000 });
    expect(reservations.map(idOf)).toEqual(['silent', 'given-back', 'ready']);
    expect(reservations.map(({ counters }) => counters)).toEqual([
      { attempts: 1, crashes: 1, exceptions: 0, timeouts: 0, releases: 0 },
      { attempts: 3, crashes: 1, exceptions: 2, timeouts: 0, releases: 4 },
      { attempts: 1, crashes: 0, exceptions: 0, timeouts: 0, releases: 0 },
    ]);
    await clock.advance(501);
    expect((await reserve(connection)).map(idOf)).toEqual(['running', 'delayed']);
  });

  it('keeps its failed jobs, which can be retried', async () => {
    const connection = upgraded();
    const [entry] = await connection.failed.find('failed');
    expect(entry).toMatchObject({ name: 'probe', attempts: 3, exception: 'Error: probe' });
    expect(await connection.failed.retry(entry!, entry!.payload)).toBe(true);
    expect((await reserve(connection)).map(idOf)).toContain('failed');
  });

  it.each([
    ['an old file', () => upgraded()],
    ['a new file', () => database.connect()],
  ])('asks no function of SQLite that older programs lack: %s', async (_, connect) => {
    await connect().queues.names();
    const texts = openSqlite(database.file, 1000).prepare('SELECT CAST(sql AS BLOB) FROM sqlite_master').run([]).rows;
    expect(texts.map(String).filter((text) => /_texts/.test(text))).toHaveLength(1);
    expect(texts.map(String).filter((text) => /octet_length/.test(text))).toEqual([]);
  });

  it('finds a job with the same text by an index', async () => {
    const connection = upgraded();
    const entry = { payload: payload('again'), delay: 60, distinct: true };
    await connection.push('default', [entry]);
    await expect(connection.push('default', [entry])).rejects.toMatchObject({ code: 'E_DUPLICATE_PAYLOAD' });
  });

  it.each([
    ['ready', 'removed'],
    ['delayed', 'removed'],
    ['running', 'signalled'],
    ['failed', 'unknown'],
  ])('knows its jobs by their ids: %s', async (id, result) => {
    expect(await upgraded().control.cancel(id)).toBe(result);
  });

  it('accepts jobs from a process that has not been updated yet, and these can be cancelled', async () => {
    const old = makeFirstVersion(database.file);
    const push = old.prepare(
      'INSERT INTO jobs (queue, payload, attempts, crashes, exceptions, releases, available_at, created_at, place) VALUES (?, ?, 0, 0, 0, 0, 1, 1, ?)',
    );
    const connection = database.connect();
    await connection.queues.names();
    for (let place = 1; place <= 300; place += 1) push.run(['default', payload(`job-${place}`), place]);
    expect(await connection.control.cancel('job-299')).toBe('removed');
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 299 });
  });

  it('is migrated once and loses nothing when many processes start at once', async () => {
    const old = makeFirstVersion(database.file);
    const ids = Array.from({ length: 200 }, (_, index) => `job-${index}`);
    const push = old.prepare(
      'INSERT INTO jobs (queue, payload, available_at, created_at, place) VALUES (?, ?, 1, 1, ?)',
    );
    ids.forEach((id, place) => push.run(['default', payload(id), place]));
    const drains = Array.from({ length: 4 }, () => new Child(require.resolve('./child'), database.file, 'drain'));
    expect(await Promise.all(drains.map((child) => child.exited))).toEqual([0, 0, 0, 0]);
    expect(drains.flatMap(({ lines }) => lines).toSorted()).toEqual(ids.map((id) => `settled ${id}`).toSorted());
  });

  it('is migrated by one of two processes that found it old', () => {
    const handle = makeFirstVersion(database.file, clock.now() / 1000);
    const names = tableNames('jobs', 'database');
    const second: SqliteDatabase = {
      ...handle,
      exec(sql) {
        if (sql === 'BEGIN IMMEDIATE') prepareTables(openSqlite(database.file, 1000), names, database.file);
        handle.exec(sql);
      },
    };
    expect(() => prepareTables(second, names, database.file)).not.toThrow();
    expect(handle.prepare("SELECT version FROM onqueue_versions WHERE name = 'jobs'").run([]).rows).toEqual([[9]]);
  });

  it('is left unchanged if another program has a table with a name that it needs', async () => {
    const old = makeFirstVersion(database.file, clock.now() / 1000);
    old.exec('CREATE TABLE jobs_orders (article TEXT)');
    await expect(database.connect().queues.names()).rejects.toMatchObject({ code: 'E_DATABASE_FOREIGN_TABLE' });
    expect(old.prepare("SELECT version FROM onqueue_versions WHERE name = 'jobs'").get([])).toEqual([1]);
    expect(old.prepare("SELECT count(*) FROM pragma_table_info('jobs')").get([])).toEqual([12]);
  });
});

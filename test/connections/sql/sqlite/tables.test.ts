import { systemClock } from '../../../../src/base/clock';
import { DatabaseTableNameError, ForeignTableError, NewerTablesError } from '../../../../src/connections/sql/errors';
import { openSqlite } from '../../../../src/connections/sql/sqlite/sqlite-database';
import type { SqliteDatabase } from '../../../../src/connections/sql/sqlite/sqlite-database';
import { SqliteTables } from '../../../../src/connections/sql/sqlite/sqlite-tables';
import { tableNames } from '../../../../src/connections/sql/table-names';
import { Worker } from '../../../../src/worker/worker';
import { testApplication } from '../../../support/application';
import { idOf, payload, reserve, TemporaryDatabase } from '../open-database';

let database: TemporaryDatabase;

beforeEach(() => {
  database = new TemporaryDatabase();
});

afterEach(() => database.dispose());

const open = (): SqliteDatabase => openSqlite(database.file, 1000);

/** What Laravel's migration makes. */
const LARAVEL_JOBS = `CREATE TABLE jobs (id integer primary key autoincrement not null, queue varchar not null, payload text not null,
  attempts integer not null, reserved_at integer, available_at integer not null, created_at integer not null)`;

const columnsOf = (table: string): unknown[] =>
  open()
    .prepare('SELECT CAST(name AS BLOB) FROM pragma_table_info(?)')
    .all([table])
    .map(([name]) => String(name));

describe('the tables', () => {
  it("are made on the first use, with Laravel's columns and our own", async () => {
    await database.connect().queues();
    expect(columnsOf('jobs')).toEqual(
      expect.arrayContaining(['id', 'queue', 'payload', 'attempts', 'reserved_at', 'available_at', 'created_at']),
    );
    expect(columnsOf('failed_jobs')).toEqual(
      expect.arrayContaining(['id', 'uuid', 'connection', 'queue', 'payload', 'exception', 'failed_at']),
    );
  });

  it('of two connections stand side by side in one file', async () => {
    const [ours, theirs] = [database.connect(), database.connect({ table: 'other_jobs' })];
    await ours.push('default', [{ payload: payload('ours') }]);
    await theirs.push('default', [{ payload: payload('theirs') }]);
    expect((await reserve(ours)).map(idOf)).toEqual(['ours']);
    expect((await reserve(theirs)).map(idOf)).toEqual(['theirs']);
    expect(await theirs.failed.count()).toBe(0);
  });

  it('leave the version of the file to its other users', async () => {
    open().exec('PRAGMA user_version = 7');
    await database.connect().queues();
    expect(open().prepare('PRAGMA user_version').get([])).toEqual([7]);
  });

  it('are never made over those of another program', async () => {
    open().exec(LARAVEL_JOBS);
    const connection = database.connect();
    await expect(connection.queues()).rejects.toThrow(ForeignTableError);
    await expect(connection.queues()).rejects.toThrow(/'jobs' that Onqueue did not make.*table: 'onqueue_jobs'/);
    expect(columnsOf('jobs')).toHaveLength(7);
    expect(columnsOf('failed_jobs')).toEqual([]);
    await expect(database.connect({ table: 'onqueue_jobs' }).queues()).resolves.toEqual([]);
  });

  it('of a later version are refused', async () => {
    await database.connect().queues();
    open().exec('UPDATE onqueue_versions SET version = 9');
    const push = database.connect().push('default', [{ payload: payload('a') }]);
    await expect(push).rejects.toThrow(NewerTablesError);
    await expect(push).rejects.toMatchObject({ facts: { found: 9, known: 3 } });
  });

  it('of a later version keep a worker from starting', async () => {
    await database.connect().queues();
    open().exec('UPDATE onqueue_versions SET version = 9');
    const { manager } = testApplication({
      connections: { main: { driver: 'database', url: `sqlite:${database.file}` } },
      default: 'main',
    });
    await expect(new Worker({}, manager).run()).rejects.toThrow(NewerTablesError);
    await manager.close();
  });

  it.each(['jobs; DROP TABLE users', 'jobs"', "jobs'", '', '1jobs', 'sqlite_jobs', 'jöbs', 'j'.repeat(49)])(
    'cannot be called %p',
    (table) => {
      expect(() => database.connect({ table })).toThrow(DatabaseTableNameError);
    },
  );

  it('take jobs that another program inserts by Laravel’s columns', async () => {
    const connection = database.connect();
    await connection.queues();
    const now = Math.floor(systemClock.now() / 1000);
    const insert = open().prepare(
      'INSERT INTO jobs (queue, payload, attempts, reserved_at, available_at, created_at) VALUES (?, ?, 0, NULL, ?, ?)',
    );
    insert.run(['default', '{"uuid":"u","job":"App\\\\Mail@send","data":[],"id":"theirs"}', now, now]);
    insert.run(['default', '{"id":"later"}', now + 1000, now]);
    const [reservation, ...more] = await reserve(connection);
    expect(reservation).toMatchObject({ counters: { attempts: 1 } });
    expect(String(reservation?.payload)).toBe(
      '{"uuid":"u","job":"App\\\\Mail@send","data":[],"id":"theirs","attempts":1}',
    );
    expect(more).toEqual([]);
  });

  it('take a text that is not UTF-8, which would end the process if it were read as text', async () => {
    const connection = database.connect();
    await connection.queues();
    open().exec(
      `INSERT INTO jobs (queue, payload, available_at, created_at) VALUES ('default', CAST(x'7b22ff227d' AS TEXT), 1, 1)`,
    );
    await reserve(connection);
    const [entry] = await connection.failed.list({ limit: 1 });
    expect(entry?.payload).toEqual(Buffer.from('7b22ff227d', 'hex'));
  });
});

describe('the indexes', () => {
  it('serve every statement on jobs: none reads through all of them', async () => {
    await database.connect().queues();
    const handle = open();
    const plan: unknown[] = [];
    const recording: SqliteDatabase = {
      ...handle,
      prepare(sql) {
        const steps = handle.prepare(`EXPLAIN QUERY PLAN ${sql}`).all([]);
        plan.push(...steps.map((step) => step[3]));
        return handle.prepare(sql);
      },
    };
    expect(new SqliteTables(recording, tableNames('jobs', 'database'), 0)).toBeDefined();
    expect(plan).toContainEqual(
      expect.stringMatching(/^SEARCH jobs USING INDEX jobs_texts \(queue=\? AND <expr>=\? AND <expr>=\?\)/),
    );
    expect(plan).not.toContainEqual(expect.stringMatching(/^SCAN jobs\b/));
    expect(plan.filter((step) => String(step).startsWith('SEARCH jobs USING COVERING INDEX')).length).toBeGreaterThan(
      5,
    );
  });
});

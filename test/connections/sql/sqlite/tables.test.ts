import { systemClock } from '../../../../src/base/clock';
import { openSqlite, type SqliteDatabase } from '../../../../src/connections/sql/sqlite/engine';
import { counts, piece, clearBehind, clearHeads, newestJob } from '../../../../src/connections/sql/queues';
import { newJob } from '../../../../src/connections/sql/dialect';
import {
  cancel,
  cancelledOf,
  find,
  readSomeIds,
  rewrite,
  ledJobs,
  leadOf,
  peek,
} from '../../../../src/connections/sql/jobs';
import { batchRemoval, cancelledBatches } from '../../../../src/connections/sql/batches';
import { sqliteDialect } from '../../../../src/connections/sql/sqlite/connection';
import { performNow, written, type Sql, type SqlResult, type Work } from '../../../../src/connections/sql/statement';
import { tableNames } from '../../../../src/connections/sql/address';
import { Worker } from '../../../../src/worker/worker';
import { testApplication } from '../../../support/application';
import { idOf, payload, reserve, TemporaryDatabase } from '../open-database';

let database: TemporaryDatabase;

beforeEach(() => {
  database = new TemporaryDatabase();
});

afterEach(() => database.dispose());

const open = (): SqliteDatabase => openSqlite(database.file, 1000);

/** The table that Laravel's migration makes. */
const LARAVEL_JOBS = `CREATE TABLE jobs (id integer primary key autoincrement not null, queue varchar not null, payload text not null,
  attempts integer not null, reserved_at integer, available_at integer not null, created_at integer not null)`;

const columnsOf = (table: string): unknown[] =>
  open()
    .prepare('SELECT CAST(name AS BLOB) FROM pragma_table_info(?)')
    .run([table])
    .rows.map(([name]) => String(name));

describe('the tables', () => {
  it("are made on the first use, with Laravel's columns and our own", async () => {
    await database.connect().queues.names();
    expect(columnsOf('jobs')).toEqual(
      expect.arrayContaining(['id', 'queue', 'payload', 'attempts', 'reserved_at', 'available_at', 'created_at']),
    );
    expect(columnsOf('failed_jobs')).toEqual(
      expect.arrayContaining(['id', 'uuid', 'connection', 'queue', 'payload', 'exception', 'failed_at']),
    );
  });

  it('of two connections can be in one file', async () => {
    const [ours, theirs] = [database.connect(), database.connect({ table: 'other_jobs' })];
    await ours.push('default', [{ payload: payload('ours') }]);
    await theirs.push('default', [{ payload: payload('theirs') }]);
    expect((await reserve(ours)).map(idOf)).toEqual(['ours']);
    expect((await reserve(theirs)).map(idOf)).toEqual(['theirs']);
    expect(await theirs.failed.count()).toBe(0);
  });

  it('leave the user version of the file to other programs', async () => {
    open().exec('PRAGMA user_version = 7');
    await database.connect().queues.names();
    expect(open().prepare('PRAGMA user_version').get([])).toEqual([7]);
  });

  it('are never made over those of another program', async () => {
    open().exec(LARAVEL_JOBS);
    const connection = database.connect();
    await expect(connection.queues.names()).rejects.toMatchObject({ code: 'E_DATABASE_FOREIGN_TABLE' });
    await expect(connection.queues.names()).rejects.toThrow(
      /'jobs' that Onqueue did not create.*table: 'onqueue_jobs'/,
    );
    expect(columnsOf('jobs')).toHaveLength(7);
    expect(columnsOf('failed_jobs')).toEqual([]);
    await expect(database.connect({ table: 'onqueue_jobs' }).queues.names()).resolves.toEqual([]);
  });

  it('of a later version are refused', async () => {
    await database.connect().queues.names();
    open().exec('UPDATE onqueue_versions SET version = 99');
    const push = database.connect().push('default', [{ payload: payload('a') }]);
    await expect(push).rejects.toMatchObject({ code: 'E_DATABASE_NEWER_TABLES' });
    await expect(push).rejects.toMatchObject({ facts: { found: 99, known: 9 } });
  });

  it('of a later version that only adds to them let a program of before start, so that a deploy can be rolled back', async () => {
    const { version: known } = database.connect().migrations;
    await database.connect().queues.names();
    open().exec(`UPDATE onqueue_versions SET version = iif(name = 'jobs', 99, ${known})`);
    const connection = database.connect();
    await connection.push('default', [{ payload: payload('a') }]);
    expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    expect(await connection.migrations.run()).toEqual({ from: 99, to: 99 });
  });

  it('of a later version keep a worker from starting', async () => {
    await database.connect().queues.names();
    open().exec('UPDATE onqueue_versions SET version = 99');
    const { manager } = testApplication({
      connections: { main: { driver: 'database', url: `sqlite:${database.file}` } },
      default: 'main',
    });
    await expect(new Worker({}, manager).run()).rejects.toMatchObject({ code: 'E_DATABASE_NEWER_TABLES' });
    await manager.close();
  });

  it.each(['jobs; DROP TABLE users', 'jobs"', "jobs'", '', '1jobs', 'sqlite_jobs', 'jöbs', 'j'.repeat(49)])(
    'cannot be named %p',
    (table) => {
      expect(() => database.connect({ table })).toThrow(expect.objectContaining({ code: 'E_DATABASE_TABLE_NAME' }));
    },
  );

  it('accept jobs that another program inserts with Laravel’s columns', async () => {
    const connection = database.connect();
    await connection.queues.names();
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

  it('accept a payload that is not UTF-8, which would end the process if it were read as text', async () => {
    const connection = database.connect();
    await connection.queues.names();
    open().exec(
      `INSERT INTO jobs (queue, payload, available_at, created_at) VALUES ('default', CAST(x'7b22ff227d' AS TEXT), 1, 1)`,
    );
    await reserve(connection);
    const [entry] = await connection.failed.list({ limit: 1 });
    expect(entry?.payload).toEqual(Buffer.from('7b22ff227d', 'hex'));
  });
});

describe('the indexes', () => {
  it('serve every statement on jobs, so that none scans the table', async () => {
    await database.connect().queues.names();
    const plan: string[] = [];
    const handle = open();
    /** Runs the work and notes the query plan of each statement. */
    const explain = <T>(work: Work<T>): T => performNow((statements) => statements.map(explained), work);
    const explained = ({ text, values }: Sql): SqlResult => {
      plan.push(
        ...handle
          .prepare(`EXPLAIN QUERY PLAN ${text}`)
          .run(values)
          .rows.map((step) => String(step[3])),
      );
      return handle.prepare(text).run(values);
    };
    const own = { connection: 'database', file: database.file, engine: () => undefined };
    const dialect = sqliteDialect(tableNames('jobs', 'database'), () => 1000, own);
    const { jobs } = dialect;
    const mark = { client: 'a', number: 1, unheard: [] };
    const job = (id: string, delay: number) => ({ ...newJob(payload(id), delay), queue: 'default', unique: delay > 0 });
    const request = { queues: ['default'], limit: 10, lease: 60 };

    const tie = { key: 'k', until: 'start', for: 60 } as const;
    explain(jobs.push([job('a', 0), { ...job('b', 0), tie }, job('c', 5)], undefined));
    const { taken } = explain(jobs.exchange({ endings: [], request, mark }));
    const [first, second] = taken.map(({ id }) => ({ id, fence: 1 }));
    explain(jobs.renew([first!], 0));
    const released = {
      kind: 'released',
      queue: 'default',
      delay: 0,
      retakes: { id: 'b', unique: tie },
      counters: taken[1]!.counters,
    } as const;
    const endings = [{ ...second!, ...released }];
    explain(jobs.exchange({ endings, request: { ...request, limit: 0 }, mark }));
    explain(jobs.idle(['default']));
    for (const state of ['ready', 'delayed', 'reserved'] as const) {
      const [shown] = explain(peek(dialect, 'default', state, 10));
      explain(peek(dialect, 'default', state, 10, shown?.place ?? '0:0'));
    }
    explain(find(dialect, 'b', undefined));
    explain(find(dialect, 'b', 'default'));
    explain(counts(dialect, 'default'));
    for (const state of ['ready', 'delayed', 'reserved'] as const) {
      explain(piece(dialect, ledJobs(dialect.line, 'default', state), leadOf(dialect.line, state), 1));
    }
    explain(cancel(dialect, 'b', 'default', undefined));
    explain(cancelledOf(dialect, ['1', '2']));
    explain(readSomeIds(dialect, 10));
    explain(rewrite(dialect, [{ ...first!, payload: Buffer.from('{}'), uuid: 'd' }]));
    explain(newestJob(dialect));
    explain(clearHeads(dialect, 'default', '10', 10));
    const begins = { id: 'batch', name: 'images', allowsFailures: false, callbacks: [] };
    explain(jobs.push([{ ...job('e', 0), batch: { id: 'batch', weight: 1 } }], undefined, begins));
    const leaves = { id: 'batch', change: { pending: -1, completed: 1 } };
    explain(jobs.exchange({ endings: [{ ...first!, kind: 'removed', leaves }], request: undefined, mark }));
    explain(cancelledBatches(dialect, ['batch']));
    explain(written(batchRemoval(dialect, 60, true, 10)));
    explain(clearHeads(dialect, 'default', '10', 10));
    explain(clearBehind(dialect, 'default', 'ready', '0', '0:0'));

    expect(plan).toContainEqual(
      expect.stringMatching(/^SEARCH jobs USING INDEX jobs_texts \(queue=\? AND <expr>=\? AND <expr>=\?\)/),
    );
    expect(plan).toContainEqual(
      expect.stringMatching(/^SEARCH jobs USING INDEX jobs_reserved \(queue=\? AND lease_until>\?\)/),
    );
    expect(plan).not.toContainEqual(expect.stringMatching(/^SCAN jobs\b/));
    expect(plan).not.toContainEqual(expect.stringMatching(/^SCAN jobs_batches\b/));
    expect(plan.filter((step) => step.startsWith('SEARCH jobs USING COVERING INDEX')).length).toBeGreaterThan(5);
  });
});

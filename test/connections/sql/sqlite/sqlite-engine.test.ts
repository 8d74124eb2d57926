import { existsSync, rmSync, statSync } from 'node:fs';
import { systemClock } from '../../../../src/base/clock';
import {
  ConnectionClosedError,
  DuplicatePayloadError,
  QueueUnavailableError,
} from '../../../../src/connections/errors';
import { openSqlite, SqliteEngine, type SqliteDatabase } from '../../../../src/connections/sql/sqlite/engine';
import { raw, rowsOf, type Work } from '../../../../src/connections/sql/statement';
import { meantToPass } from '../../../support/meant-to-pass';
import { idOf, payload, reserve, silent, TemporaryDatabase } from '../open-database';

let database: TemporaryDatabase;

beforeEach(() => {
  database = new TemporaryDatabase();
});

afterEach(() => database.dispose());

/** Locks the file like a process that writes for long. */
function lockFile(): SqliteDatabase {
  const holder = openSqlite(database.file, 1000);
  holder.exec('BEGIN IMMEDIATE');
  return holder;
}

const turnOfTheEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await turnOfTheEventLoop();
}

describe('a busy file', () => {
  it('leaves the event loop free and is written once it is unlocked', async () => {
    const connection = database.connect();
    await reserve(connection);
    const holder = lockFile();
    const push = connection.push('default', [{ payload: payload('a') }]);
    // Never reached if the loop were blocked until the file is unlocked.
    await turns(100);
    holder.exec('ROLLBACK');
    await push;
    expect((await reserve(connection)).map(idOf)).toEqual(['a']);
  });

  it('can be opened for the first time once it is unlocked', async () => {
    const holder = lockFile();
    const push = database.connect().push('default', [{ payload: payload('a') }]);
    await turns(100);
    holder.exec('ROLLBACK');
    await expect(push).resolves.toBeUndefined();
  });

  it('can be read meanwhile', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: payload('a') }]);
    const holder = lockFile();
    await expect(connection.queues.counts('default')).resolves.toEqual({ ready: 1, delayed: 0, reserved: 0 });
    await expect(reserve(connection, { queues: ['empty'] })).resolves.toEqual([]);
    holder.exec('ROLLBACK');
  });

  it('is searched meanwhile for a job that is not there, also by a process that has just begun', async () => {
    await database.connect().push('default', [{ payload: payload('a') }]);
    const holder = lockFile();
    await expect(database.connect().queues.find('b')).resolves.toBeUndefined();
    holder.exec('ROLLBACK');
  });

  it('is given up at the deadline with an error that says that it is busy, and nothing is written', async () => {
    const connection = database.connect({}, { deadline: meantToPass(0.05) });
    await reserve(connection);
    const holder = lockFile();
    const push = connection.push('default', [{ payload: payload('a') }]);
    await expect(push).rejects.toThrow(QueueUnavailableError);
    await expect(push).rejects.toThrow(
      `SQLite at ${database.file} did not answer in 0.05 s (the file is busy: another process keeps it locked); the job was not queued.`,
    );
    holder.exec('ROLLBACK');
    expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
  });

  it('ends a push of many pages part way, and the error says how many jobs were queued', async () => {
    const connection = database.connect({}, { deadline: meantToPass(0.05) });
    await reserve(connection);
    const entries = Array.from({ length: 5000 }, (_, index) => ({ payload: payload(`${index}`) }));
    const push = connection.push('default', entries);
    while ((await connection.queues.counts('default')).ready === 0) await turnOfTheEventLoop();
    const holder = lockFile();
    const error: unknown = await push.catch((reason: unknown) => reason);
    holder.exec('ROLLBACK');
    const { ready } = await connection.queues.counts('default');
    expect(ready).toBeGreaterThan(0);
    expect(ready).toBeLessThan(5000);
    expect(error).toMatchObject({
      facts: { consequence: `the first ${ready} of 5000 jobs were queued, the other jobs were not queued` },
    });
  });

  it('makes a close wait for earlier calls', async () => {
    const connection = database.connect();
    await reserve(connection);
    const holder = lockFile();
    const push = connection.push('default', [{ payload: payload('a') }]);
    const close = connection.close();
    await turns(10);
    holder.exec('ROLLBACK');
    await Promise.all([push, close]);
    expect(await database.connect().queues.counts('default')).toMatchObject({ ready: 1 });
  });
});

describe('calls of one turn of the event loop', () => {
  it('share a transaction, so that the log grows by less than a page for each', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: payload('first') }]);
    const before = statSync(`${database.file}-wal`).size;
    await Promise.all(
      Array.from({ length: 50 }, (_, id) => connection.push('default', [{ payload: payload(`${id}`) }])),
    );
    expect(statSync(`${database.file}-wal`).size - before).toBeLessThan(50 * 4096);
  });

  it('keep the order in which they were made', async () => {
    const connection = database.connect();
    const ids = Array.from({ length: 20 }, (_, index) => `${index}`);
    await Promise.all(ids.map((id) => connection.push('default', [{ payload: payload(id) }])));
    expect((await reserve(connection)).map(idOf)).toEqual(ids);
  });

  it('do not fail when one of them fails', async () => {
    const connection = database.connect();
    const twin = { payload: payload('twin'), delay: 60, distinct: true };
    await connection.push('default', [twin]);
    const [before, refused, after] = await Promise.allSettled([
      connection.push('default', [{ payload: payload('before') }]),
      connection.push('default', [{ payload: payload('with the twin') }, twin]),
      connection.push('default', [{ payload: payload('after') }]),
    ]);
    expect([before.status, after.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(DuplicatePayloadError) as unknown });
    expect((await reserve(connection)).map(idOf)).toEqual(['before', 'after']);
  });
});

describe('a confirmed write', () => {
  /** `PRAGMA synchronous`: 2 waits for the disk, 1 leaves that to a later commit. */
  function* synchronous(): Work<unknown> {
    const [row] = yield* rowsOf(raw('PRAGMA synchronous'));
    return row?.[0];
  }

  it('is on disk if it must survive a power failure, and does not wait for the disk otherwise', async () => {
    const options = { connection: 'database', file: database.file, deadline: 60, origin: undefined, logger: silent };
    const engine = new SqliteEngine({ ...options, prepare: () => 0 });
    const purpose = { consequence: 'nothing was done', writes: 'repeatable' } as const;
    const durable = { ...purpose, durable: true };
    expect(await engine.run(durable, synchronous)).toBe(2);
    expect(await engine.run(purpose, synchronous)).toBe(1);
    expect(await Promise.all([engine.run(purpose, synchronous), engine.run(durable, synchronous)])).toEqual([2, 2]);
    await engine.close();
  });
});

describe('a loop of awaited calls', () => {
  it('lets timers and signals through', async () => {
    const connection = database.connect();
    const heard = jest.fn();
    setImmediate(() => heard());
    // Each call resolves in a microtask, so without turns in between this loop would never end.
    while (heard.mock.calls.length === 0) await connection.queues.counts('default');
    setImmediate(() => heard());
    while (heard.mock.calls.length === 1) await connection.push('default', [{ payload: payload('a') }]);
    expect(heard).toHaveBeenCalledTimes(2);
  });
});

describe('a file that is removed while it is in use', () => {
  const removeFile = (): void => ['', '-wal', '-shm'].forEach((end) => rmSync(`${database.file}${end}`));

  it('is created again by the next push, with a warning', async () => {
    const warnings: string[] = [];
    const logger = { ...silent, warn: (_facts: object, message: string) => void warnings.push(message) };
    const connection = database.connect({}, { logger });
    await connection.push('default', [{ payload: payload('gone') }]);
    removeFile();
    await connection.push('default', [{ payload: payload('kept') }]);
    expect((await reserve(database.connect())).map(idOf)).toEqual(['kept']);
    expect(warnings).toEqual([expect.stringMatching(/removed or replaced/)]);
  });
});

describe('a closed connection', () => {
  it('has ended its reads, and does not open the file again for one that waited for its turn', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: payload('a') }]);
    await turnOfTheEventLoop();
    await connection.queues.counts('default');
    // The turn has taken long enough, so the next read waits for another one.
    for (const until = systemClock.monotonic() + 10; systemClock.monotonic() < until;);
    const count = connection.queues.counts('default');
    await Promise.resolve();
    await connection.close();
    rmSync(database.file);
    expect(await count).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    expect(existsSync(database.file)).toBe(false);
  });

  it('also refuses the next page of a running call', async () => {
    const connection = database.connect();
    const entries = Array.from({ length: 1000 }, (_, index) => ({ payload: payload(`${index}`) }));
    const push = connection.push('default', entries);
    await Promise.all([connection.close(), expect(push).rejects.toThrow(ConnectionClosedError)]);
  });

  it('leaves no write-ahead log behind', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: payload('a') }]);
    await connection.close();
    expect(statSync(`${database.file}-wal`).size).toBe(0);
  });
});

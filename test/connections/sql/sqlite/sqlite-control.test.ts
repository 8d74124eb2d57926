import { realpathSync } from 'node:fs';
import { watchOf } from '../../../../src/connections/sql/sqlite/waking';
import { openSqlite } from '../../../../src/connections/sql/sqlite/engine';
import type { SqlConnection } from '../../../../src/connections/sql/connection';
import { Child } from '../../../support/child-process';
import { idOf, payload, reserve, TemporaryDatabase } from '../open-database';
import { reserveFrom, settleIn, waitOn } from '../../../support/exchange';

let database: TemporaryDatabase;
let connection: SqlConnection;

beforeEach(() => {
  database = new TemporaryDatabase();
  connection = database.connect();
});

afterEach(() => database.dispose());

describe('cancelling', () => {
  it('finds a job that another program inserted', async () => {
    await connection.queues.names();
    openSqlite(database.file, 1000)
      .prepare('INSERT INTO jobs (queue, payload, available_at, created_at) VALUES (?, ?, 1, 1)')
      .run(['default', '{"id":"théirs","data":{}}']);
    expect(await connection.control.cancel('théirs')).toBe('removed');
    expect(await reserve(connection)).toEqual([]);
  });

  it('finds a job by the id that it got when it was handed out', async () => {
    await connection.push('default', [{ payload: '{"job":"nameless"}' }]);
    const [reservation] = await reserve(connection);
    expect(await connection.control.cancel(String(idOf(reservation!)))).toBe('signalled');
  });

  it('with an empty id finds nothing, even if jobs have no id', async () => {
    await connection.push('default', [{ payload: '{"job":"nameless"}' }, { payload: 'no json' }]);
    expect(await connection.control.cancel('')).toBe('unknown');
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 2 });
  });

  it('cancels one of two jobs with the same id, the running one first', async () => {
    await connection.push('default', [{ payload: payload('twin') }, { payload: payload('twin') }]);
    const [running] = await reserve(connection, { limit: 1 });
    expect(await connection.control.cancel('twin')).toBe('signalled');
    expect(await connection.renew([running!], 60)).toEqual(['cancelled']);
    expect(await connection.queues.counts('default')).toMatchObject({ ready: 1 });
  });
});

describe('orders', () => {
  it('outlive the connections that gave them', async () => {
    await connection.control.pause('default');
    await connection.control.restart();
    const { restart } = await reserveFrom(connection, { queues: ['default'], limit: 1, lease: 60 });
    await connection.close();
    const later = database.connect();
    expect(await reserveFrom(later, { queues: ['default'], limit: 1, lease: 60 })).toMatchObject({
      paused: ['default'],
      restart,
    });
  });

  it('for one table do not apply to another in the same file', async () => {
    await connection.control.pause('default');
    await connection.control.restart();
    const other = database.connect({ table: 'other_jobs' });
    expect(await other.control.paused()).toEqual([]);
    expect((await reserveFrom(other, { queues: ['default'], limit: 1, lease: 60 })).restart).toBeUndefined();
  });

  it('of another process wake waiters of a queue that is resumed', async () => {
    await connection.push('default', [{ payload: payload('a') }]);
    await connection.control.pause('default');
    const wait = waitOn(connection, ['default'], 3600, new AbortController().signal);
    const child = new Child(require.resolve('../child'), database.file, 'resume');
    await wait;
    expect(await child.exited).toBe(0);
    expect((await reserve(connection)).map(idOf)).toEqual(['a']);
  });
});

it('a settle that takes nothing lets only those look who wait for a queue with a limit, as they may take more', async () => {
  await connection.push('default', [{ payload: payload('a') }]);
  await connection.push('limited', [{ payload: payload('b') }]);
  await connection.control.limit!('limited', 1);
  const taken = [...(await reserve(connection)), ...(await reserve(connection, { queues: ['limited'] }))];
  const told: string[] = [];
  const watcher = { wroteTo: (queue: string) => void told.push(queue), look: () => undefined };
  const watch = watchOf(realpathSync(database.file));
  watch.add(watcher);

  await settleIn(
    connection,
    taken.map((reservation) => ({ outcome: 'completed', reservation }) as const),
  );

  watch.remove(watcher);
  expect(told).toEqual(['limited']);
});

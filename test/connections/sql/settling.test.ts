import type { Reservation, Settlement } from '../../../src/connections/contract';
import { FileWatch } from '../../../src/connections/sql/sqlite/waking';
import { idOf, payload, reserve, TemporaryDatabase } from './open-database';
import { reserveFrom, settleIn } from '../../support/exchange';

const MORE_THAN_A_PAGE = 150;

let database: TemporaryDatabase;

beforeEach(() => {
  database = new TemporaryDatabase();
});

afterEach(() => database.dispose());

function execute(text: string): void {
  const Libsql = require('libsql') as new (file: string) => { exec(sql: string): void; close(): void };
  const client = new Libsql(database.file);
  client.exec(text);
  client.close();
}

describe('settling more jobs than one call takes', () => {
  for (const call of ['settle', 'exchange'] as const) {
    it(`reports pages before a failed one as settled when all are settled again (${call})`, async () => {
      const connection = database.connect();
      const entries = Array.from({ length: MORE_THAN_A_PAGE + 1 }, (_, at) => ({ payload: payload(`p${at}`) }));
      await connection.push('default', entries);
      const held = [...(await reserve(connection)), ...(await reserve(connection, { limit: MORE_THAN_A_PAGE - 100 }))];
      const settlements = held.map((reservation): Settlement => ({ outcome: 'completed', reservation }));
      const settle = async (): Promise<readonly unknown[]> =>
        call === 'settle'
          ? settleIn(connection, settlements)
          : (await connection.exchange(settlements, { queues: ['default'], limit: 1, lease: 60 })).results;

      execute(`CREATE TRIGGER forbidden BEFORE DELETE ON jobs WHEN old.payload LIKE '%"p120"%'
        BEGIN SELECT RAISE(ABORT, 'not here'); END`);
      await expect(settle()).rejects.toThrow('not here');
      execute('DROP TRIGGER forbidden');
      expect(new Set(await settle())).toEqual(new Set(['settled']));
      expect(new Set(await settle())).toEqual(new Set(['lost']));
      expect((await connection.queues.counts('default')).reserved).toBe(call === 'settle' ? 0 : 1);
    });
  }
});

describe('a job that follows an outcome', () => {
  const follower = (id: string) => ({ queue: 'next', entry: { payload: payload(id) } });

  it('is pushed once, and the outcome is not written until it can be', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: payload('a') }]);
    const [reservation] = await reserve(connection);
    const end = { outcome: 'completed', reservation: reservation!, next: [follower('b'), follower('c')] } as const;
    execute(`CREATE TRIGGER forbidden BEFORE INSERT ON jobs WHEN new.payload LIKE '%"c"%'
      BEGIN SELECT RAISE(ABORT, 'not here'); END`);
    await expect(settleIn(connection, [end])).rejects.toThrow('not here');
    expect(await connection.queues.counts('default')).toMatchObject({ reserved: 1 });
    expect([await connection.queues.counts('next'), await connection.queues.names()]).toEqual([
      { ready: 0, delayed: 0, reserved: 0 },
      ['default'],
    ]);
    execute('DROP TRIGGER forbidden');
    expect(await settleIn(connection, [end])).toEqual(['settled']);
    expect(await settleIn(connection, [end])).toEqual(['lost']);
    expect((await reserve(connection, { queues: ['next'] })).map(idOf)).toEqual(['b', 'c']);
    expect(await connection.queues.names()).toEqual(['default', 'next']);
  });

  it('wakes waiters of its queue in this process', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: payload('a') }]);
    const [reservation] = await reserve(connection);
    const told = jest.spyOn(FileWatch.prototype, 'wroteTo');
    await settleIn(connection, [{ outcome: 'completed', reservation: reservation!, next: [follower('b')] }]);
    expect(told.mock.calls).toContainEqual(['next']);
    told.mockRestore();
  });

  it('counts towards the size of a call', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
    const held = await reserve(connection);
    const long = { queue: 'next', entry: { payload: JSON.stringify({ id: 'long', data: 'x'.repeat(700_000) }) } };
    execute(`CREATE TRIGGER forbidden BEFORE DELETE ON jobs WHEN old.payload LIKE '%"b"%'
      BEGIN SELECT RAISE(ABORT, 'not here'); END`);
    const ends = held.map((reservation) => ({ outcome: 'completed', reservation, next: [long] }) as const);
    await expect(settleIn(connection, ends)).rejects.toThrow('not here');
    // The first one was settled in a call of its own.
    expect(await connection.queues.counts('next')).toMatchObject({ ready: 1 });
  });
});

it('a payload that cannot be set aside is handed out, and the worker that fails it gets the error', async () => {
  const connection = database.connect();
  await connection.push('default', [{ payload: 'no JSON' }, { payload: payload('a') }]);
  execute("CREATE TRIGGER forbidden BEFORE INSERT ON failed_jobs BEGIN SELECT RAISE(ABORT, 'not here'); END");
  const { reservations, setAside } = await reserveFrom(connection, { queues: ['default'], limit: 10, lease: 60 });
  const [a, unreadable] = reservations as [Reservation, Reservation];
  expect([idOf(a), String(unreadable.payload), setAside]).toEqual(['a', 'no JSON', []]);
  const failure = { id: 'unreadable', name: '', exception: 'no JSON object' };
  const failed = { outcome: 'failed', reservation: unreadable, counters: unreadable.counters, failure } as const;
  await expect(settleIn(connection, [failed])).rejects.toThrow('not here');
  execute('DROP TRIGGER forbidden');
  expect(await settleIn(connection, [failed])).toEqual(['settled']);
  expect((await connection.failed.find('unreadable')).map((entry) => String(entry.payload))).toEqual(['no JSON']);
});

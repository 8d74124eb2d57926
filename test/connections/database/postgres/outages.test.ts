/** PostgreSQL goes away, comes back, or its answers are lost on their way. */
import type { ServerConnection } from '../../../../src/connections/database/server/server-connection';
import { postgresErrors } from '../../../../src/connections/database/postgres/postgres-errors';
import type { Reservation } from '../../../../src/queue/connection';
import { FaultyProxy } from '../../../faults/kit/faulty-proxy';
import { eventually } from '../../../support/eventually';
import { idOf, payload, PostgresWorld, reserve } from './open-postgres';

let world: PostgresWorld;
let proxy: FaultyProxy;

beforeAll(async () => {
  world = await PostgresWorld.start({ durable: true });
}, 60_000);

beforeEach(async () => {
  world.fresh();
});

afterEach(async () => {
  await world.closeAll();
  await proxy?.stop();
});

afterAll(() => world.stop());

/** A connection by way of a proxy; its tables are made. */
async function through(call: 'push' | 'exchange', deadline = 5): Promise<ServerConnection> {
  proxy = await FaultyProxy.start(world.server.port, `_${call}_v1`);
  const url = `postgres://onqueue@127.0.0.1:${proxy.port}/postgres`;
  return world.open({ url }, { deadline });
}

const completed = (reservation: Reservation) => ({ outcome: 'completed', reservation }) as const;

describe('a lost answer of PostgreSQL', () => {
  it('queues a job once', async () => {
    const connection = await through('push');
    proxy.loseReplies(2);
    await connection.push('default', [{ payload: payload('a') }]);
    await connection.push('default', [{ payload: payload('b') }]);
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
  });

  it('hands out what was reserved unheard, at no cost in tries and without a crash', async () => {
    const connection = await through('exchange');
    await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
    proxy.loseReplies();
    const reservations = await reserve(connection);
    expect(reservations.map(idOf)).toEqual(['a', 'b']);
    expect(reservations[0]!.counters).toEqual({ attempts: 1, crashes: 0, exceptions: 0, timeouts: 0, releases: 1 });
    expect(await connection.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 2 });
  });

  it('is heard by the next call: what was settled is told as settled, and what was lost as lost', async () => {
    const connection = await through('exchange');
    await connection.push(
      'default',
      ['a', 'b', 'c', 'd'].map((id) => ({ payload: payload(id) })),
    );
    const [a, b, c, d] = (await reserve(connection)) as [Reservation, Reservation, Reservation, Reservation];
    await connection.settle([completed(c)]);
    proxy.loseReplies(2);
    const released = { outcome: 'released', reservation: b, delay: 60, counters: b.counters } as const;
    const failure = { id: 'd', name: 'Probe', exception: 'Error' };
    const failed = { outcome: 'failed', reservation: d, counters: d.counters, failure } as const;
    expect(await connection.settle([completed(a), released, completed(c), failed])).toEqual([
      'settled',
      'settled',
      'lost',
      'settled',
    ]);
    expect(await connection.counts('default')).toEqual({ ready: 0, delayed: 1, reserved: 0 });
    expect(await connection.failed.count()).toBe(1);
  });

  it('of one push is not taken for that of the next', async () => {
    const connection = await through('push', 0.4);
    proxy.loseReplies(100);
    await expect(connection.push('default', [{ payload: payload('a') }])).rejects.toMatchObject({
      facts: { uncertain: true },
    });
    proxy.loseReplies(0);
    await connection.push('default', [{ payload: payload('b') }]);
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
  });

  it('to what comes late, after it was sent again, changes nothing', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }]);
    const { push, exchange } = { push: `"${world.table}_push_v1"`, exchange: `"${world.table}_exchange_v1"` };
    const jobs = `'[{"queue":"default","payload":"{}","uuid":"","delay":0,"attempts":0,"crashes":0,"exceptions":0,"timeouts":0,"releases":0}]'`;
    await world.rows(`select ${push}(${jobs}, '{default}', false, 'client', 2, '{1}', 0)`);
    await world.rows(`select ${push}(${jobs}, '{default}', false, 'client', 1, '{}', 0)`);
    expect(await connection.counts('default')).toMatchObject({ ready: 2 });
    const reserved = (number: number, unheard: string) =>
      world.rows(
        `select * from ${exchange}('{}', '{}', null, null, '{default}', 1, 60, null, false, 'other', ${number}, '${unheard}', 0)`,
      );
    expect(await reserved(2, '{1}')).toHaveLength(2);
    expect(await reserved(1, '{}')).toEqual([]);
    expect(await connection.counts('default')).toMatchObject({ ready: 1, reserved: 1 });
  });

  it('is an error that says so where it does not come within the deadline, and undone by the next call', async () => {
    const connection = await through('exchange', 0.4);
    await connection.push('default', [{ payload: payload('a') }]);
    proxy.loseReplies(100);
    await expect(reserve(connection)).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      facts: { uncertain: true, deadline: 0.4, consequence: 'no job was reserved' },
    });
    proxy.loseReplies(0);
    const [reservation] = await reserve(connection);
    expect(reservation!.counters).toMatchObject({ attempts: 1, crashes: 0 });
  });
});

describe('a PostgreSQL that is away', () => {
  it('may have carried out what it was asked when one of its processes crashed', () => {
    expect(postgresErrors.trouble({ code: '57P02', severity: 'FATAL' })).toBe('gone');
    expect(postgresErrors.trouble({ code: '57P01', severity: 'FATAL' })).toBe('passing');
  });

  it('fails a push by its deadline, and for certain', async () => {
    const connection = await through('push', 0.4);
    await connection.push('default', [{ payload: payload('a') }]);
    const { port } = world.server;
    proxy.retarget(1);
    proxy.cut();
    // It may have been sent before the end of its connection was noticed.
    await expect(connection.push('default', [{ payload: payload('b') }])).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
    });
    const pushing = connection.push('default', [{ payload: payload('c') }]);
    await expect(pushing).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      facts: { deadline: 0.4, store: 'PostgreSQL', consequence: 'the job was not queued' },
    });
    proxy.retarget(port);
    await expect(pushing).rejects.not.toThrow(/unless only its answer was lost/);
  });

  it('is used again when it is back, by workers that wait as well, and has lost nothing', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }]);
    const waiter = connection.waiter(['default']);
    await waiter.wait(10, new AbortController().signal);
    const wait = waiter.wait(30, new AbortController().signal);
    await world.server.kill();
    const pushing = connection.push('default', [{ payload: payload('b') }]);
    await world.server.startAgain();
    await pushing;
    await wait;
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
    const again = waiter.wait(30, new AbortController().signal);
    await connection.push('default', [{ payload: payload('c') }]);
    await expect(again).resolves.toBeUndefined();
  }, 30_000);

  it('is given up where it takes everything and answers nothing, and asked on another connection', async () => {
    const connection = await through('push', 2);
    await connection.push('default', [{ payload: payload('a') }]);
    proxy.goHalfOpen();
    await connection.push('default', [{ payload: payload('b') }]);
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
  });

  it('does not hold up a close', async () => {
    const connection = await through('push', 0.4);
    await connection.push('default', [{ payload: payload('a') }]);
    const waiter = connection.waiter(['default']);
    await waiter.wait(10, new AbortController().signal);
    proxy.goSilent();
    const pushing = connection.push('default', [{ payload: payload('b') }]).catch((error: unknown) => error);
    await connection.close();
    expect(await pushing).toMatchObject({ facts: { uncertain: true } });
  });

  it.each([
    [
      'a user that it does not let in',
      'postgres://nobody:hunter2@127.0.0.1',
      /refused \(role "nobody" does not exist\).*Check the user/,
    ],
    [
      'a database that it does not have',
      'postgres://onqueue:hunter2@127.0.0.1',
      /database "nowhere" does not exist.*Create the database/,
    ],
  ])('says at once that it refuses %s, and no password', async (_what, address, words) => {
    const connection = world.connect({ url: `${address}:${world.server.port}/nowhere` });
    const pushing = connection.push('default', [{ payload: payload('a') }]);
    await expect(pushing).rejects.toThrow(words);
    await expect(pushing).rejects.not.toThrow(/hunter2/);
    expect(connection.address).not.toContain('hunter2');
  });

  it('wakes a worker although the connection that hints come by has ended', async () => {
    const connection = await world.open();
    const waiter = connection.waiter(['default']);
    await waiter.wait(10, new AbortController().signal);
    const wait = waiter.wait(30, new AbortController().signal);
    await world.rows(`select pg_terminate_backend(pid) from pg_stat_activity where query like 'LISTEN %'`);
    await expect(wait).resolves.toBeUndefined();
    await eventually(async () => {
      const [row] = await world.rows(`select count(*)::int as n from pg_stat_activity where query like 'LISTEN %'`);
      return row!['n'] === 1;
    });
  });
});

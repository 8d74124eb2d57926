/** MariaDB goes away, comes back, or its answers are lost on their way. */
import type { ServerConnection } from '../../../../src/connections/database/server/server-connection';
import type { Reservation } from '../../../../src/queue/connection';
import { createConnection } from 'mysql2';
import { systemClock } from '../../../../src/clock/clock';
import { newJob } from '../../../../src/connections/database/job-text';
import type { MysqlConnection } from '../../../../src/connections/database/mysql/mysql';
import { MysqlJobs } from '../../../../src/connections/database/mysql/mysql-jobs';
import { mysqlNames } from '../../../../src/connections/database/mysql/mysql-names';
import { MysqlPool } from '../../../../src/connections/database/mysql/mysql-pool';
import { PollWaiters } from '../../../../src/connections/database/mysql/poll-waiters';
import { tableNames } from '../../../../src/connections/database/table-names';
import { FaultyProxy } from '../../../faults/kit/faulty-proxy';
import { eventually } from '../../../support/eventually';
import { idOf, payload } from '../open-database';
import { MysqlWorld, reserve } from './open-mysql';

let world: MysqlWorld;
let proxy: FaultyProxy;

beforeAll(async () => {
  world = await MysqlWorld.start({ durable: true });
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
  // What stands in the first statements of a push, also where it is sent again, and in those of an exchange alone.
  proxy = await FaultyProxy.start(world.server.port, call === 'push' ? '_calls' : 'SELECT @onqueue_settled');
  const url = `mysql://onqueue:secret@127.0.0.1:${proxy.port}/onqueue`;
  return world.open({ url }, { deadline });
}

function poolOf({ server }: MysqlWorld, most: number): MysqlPool {
  const connect = () => createConnection({ uri: server.url, multipleStatements: true });
  return new MysqlPool({ connect: connect as unknown as () => MysqlConnection, most, deadline: 5 });
}

const completed = (reservation: Reservation) => ({ outcome: 'completed', reservation }) as const;

describe('a lost answer of MariaDB', () => {
  it('queues a job once', async () => {
    const connection = await through('push');
    proxy.loseReplies(2);
    await connection.push('default', [{ payload: payload('a') }]);
    await connection.push('default', [{ payload: payload('b') }]);
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
  });

  it('gives back what was reserved unheard, at no cost in tries and without a crash', async () => {
    const connection = await through('exchange');
    await connection.push('default', [{ payload: payload('a') }, { payload: payload('b') }]);
    proxy.loseReplies();
    let reservations = await reserve(connection);
    // The first answer may have been lost before the transaction had ended: then it is only undone a moment later.
    while (reservations.length === 0) reservations = await reserve(connection);
    expect(reservations.map(idOf)).toEqual(['a', 'b']);
    expect(reservations[0]!.counters).toMatchObject({ attempts: 1, crashes: 0, exceptions: 0, timeouts: 0 });
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
    const names = mysqlNames(tableNames(world.table, 'database'));
    const jobs = new MysqlJobs(names, () => 0, new PollWaiters('database', systemClock));
    const pool = poolOf(world, 1);
    const session = await pool.acquire();
    const job = { ...newJob(payload('a'), 0), queue: 'default', unique: false };
    const tooLate = { errno: 1690 };

    await jobs.push(session, [job], { client: 'a', number: 2, unheard: [1] });
    await expect(jobs.push(session, [job], { client: 'a', number: 1, unheard: [] })).rejects.toMatchObject(tooLate);
    expect(await connection.counts('default')).toMatchObject({ ready: 1 });
    const request = { queues: ['default'], limit: 1, lease: 60 };
    const first = { endings: [], request, mark: { client: 'b', number: 1, unheard: [] } };
    await jobs.exchange(session, first);
    const second = { ...first, mark: { client: 'b', number: 2, unheard: [1] } };
    const { taken } = await jobs.exchange(session, second);
    expect(taken.map(({ counters }) => counters)).toMatchObject([{ attempts: 1, crashes: 0, releases: 1 }]);
    await connection.push('default', [{ payload: payload('b') }]);
    await expect(jobs.exchange(session, first)).rejects.toMatchObject(tooLate);
    expect(await connection.counts('default')).toMatchObject({ ready: 1, reserved: 1 });
    session.release(true);
    await pool.close();
  });

  it('of a transaction in whose midst the client went away is undone by the next call as well', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }, { payload: payload('b'), delay: 5 }]);
    // The server stands still where it moves up what is due; the next write to its client fails, which it takes no notice of.
    const trigger = `CREATE TRIGGER ${world.table}_gate BEFORE UPDATE ON ${world.table} FOR EACH ROW`;
    await world.rows(`${trigger} SET @gate = GET_LOCK('${world.table}', 10)`);
    const gate = await world.client();
    await gate.query(`DO GET_LOCK('${world.table}', 10)`);
    const names = mysqlNames(tableNames(world.table, 'database'));
    const jobs = new MysqlJobs(names, () => 10, new PollWaiters('database', systemClock));
    const pool = poolOf(world, 2);
    const cut = await pool.acquire();
    const request = { queues: ['default'], limit: 10, lease: 60 };
    const mark = { client: 'a', number: 1, unheard: [] };
    const unheard = jobs.exchange(cut, { endings: [], request, mark });
    unheard.catch(() => undefined);
    const threads = () => world.rows('SHOW PROCESSLIST');
    const thread = await eventually(async () => (await threads()).find(({ State }) => State === 'User lock'));
    cut.release(true);
    await expect(unheard).rejects.toThrow('Connection lost');
    await gate.query(`DO RELEASE_LOCK('${world.table}')`);
    await eventually(async () => (await threads()).every(({ Id }) => Id !== thread?.['Id']));
    expect(await connection.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 2 });

    const session = await pool.acquire();
    const { taken } = await jobs.exchange(session, {
      endings: [],
      request,
      mark: { ...mark, number: 2, unheard: [1] },
    });
    expect(taken.map(({ counters }) => counters)).toMatchObject([
      { attempts: 1, crashes: 0, releases: 1 },
      { attempts: 1, crashes: 0, releases: 1 },
    ]);
    session.release(false);
    await pool.close();
  });

  it('is an error that says so where it does not come within the deadline, and undone by the next call', async () => {
    const connection = await through('exchange', 1);
    await connection.push('default', [{ payload: payload('a') }]);
    proxy.loseReplies(100);
    await expect(reserve(connection)).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      facts: { uncertain: true, deadline: 1, consequence: 'no job was reserved' },
    });
    proxy.loseReplies(0);
    let [reservation] = await reserve(connection);
    while (reservation === undefined) [reservation] = await reserve(connection);
    expect(reservation.counters).toMatchObject({ attempts: 1, crashes: 0 });
  });
});

describe('a MariaDB that is away', () => {
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
      facts: { deadline: 0.4, store: 'MySQL', consequence: 'the job was not queued' },
    });
    proxy.retarget(port);
    await expect(pushing).rejects.not.toThrow(/unless only its answer was lost/);
  });

  it('is used again when it is back, and has lost nothing', async () => {
    const connection = await world.open();
    await connection.push('default', [{ payload: payload('a') }]);
    await world.server.kill();
    const pushing = connection.push('default', [{ payload: payload('b') }]);
    await world.server.startAgain();
    await pushing;
    expect((await reserve(connection)).map(idOf)).toEqual(['a', 'b']);
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
      'mysql://nobody:hunter2@127.0.0.1',
      /refused \(Access denied for user 'nobody'.*Check the user/,
    ],
    [
      'a database that it does not have',
      'mysql://onqueue:secret@127.0.0.1',
      /Unknown database 'nowhere'.*Create the database/,
    ],
  ])('says at once that it refuses %s, and no password', async (_what, address, words) => {
    const connection = world.connect({ url: `${address}:${world.server.port}/nowhere` });
    const pushing = connection.push('default', [{ payload: payload('a') }]);
    await expect(pushing).rejects.toThrow(words);
    await expect(pushing).rejects.not.toThrow(/hunter2|secret/);
    expect(connection.address).not.toMatch(/hunter2|secret/);
  });
});

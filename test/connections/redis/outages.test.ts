import { spawnSync } from 'node:child_process';
import { type Clock, endOfTurn, systemClock } from '../../../src/base/clock';
import { QueueUnavailableError } from '../../../src/connections/errors';
import type { Logger } from '../../../src/base/logger';
import { eventually } from '../../support/eventually';
import { freePort, startRedisServer } from '../../support/redis-server';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { RedisWorld, silent } from './open-redis';
import { reserveFrom, waitOn } from '../../support/exchange';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const request = { queues: ['q'], limit: 10, lease: 600 };
const never = new AbortController().signal;

/** The default of `RedisWorld`. */
const DEADLINE = 60;

async function failureOf(action: Promise<unknown>): Promise<Error> {
  return action.then(
    () => new Error('nothing failed'),
    (error: Error) => error,
  );
}

describe('a redis connection whose server is away', () => {
  let world: RedisWorld;
  let proxy: FaultyProxy;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  beforeEach(async () => {
    world.fresh();
    proxy = await FaultyProxy.start(world.server.port);
  });

  afterEach(async () => {
    await proxy.stop();
    await world.closeConnections();
  });

  afterAll(() => world.stop());

  it('fails a push at the deadline, with the error of the system, and says that nothing was queued', async () => {
    const port = await freePort();
    const connection = world.connect({ url: `redis://:secret@127.0.0.1:${port}/0` });
    const failure = await failureOf(world.clock.passing(connection.push('q', [{ payload: payload('a') }])));
    expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { uncertain: false, deadline: DEADLINE } });
    expect(failure.message).toContain(`Redis at redis://127.0.0.1:${port}/0 did not answer in 60 s`);
    expect(failure.message).toContain('ECONNREFUSED');
    expect(failure.message).not.toContain('secret');
  });

  it('does not push a job later that it has reported as not queued', async () => {
    const port = await freePort();
    const connection = world.connect({ url: `redis://127.0.0.1:${port}/0` });
    await expect(world.clock.passing(connection.push('q', [{ payload: payload('a') }]))).rejects.toThrow('not queued');
    const server = await startRedisServer({ port });
    try {
      await connection.push('q', [{ payload: payload('b') }]);
      expect((await connection.queues.peek('q', 'ready', 10)).map((job) => job.payload.toString())).toEqual([
        payload('b'),
      ]);
    } finally {
      await connection.close();
      await server.stop();
    }
  });

  it('continues when the server comes up within the deadline', async () => {
    const port = await freePort();
    const connection = world.connect({ url: `redis://127.0.0.1:${port}/0` });
    const pushed = connection.push('q', [{ payload: payload('a') }]);
    const server = await startRedisServer({ port });
    try {
      await pushed;
      expect(await connection.queues.counts('q')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    } finally {
      await connection.close();
      await server.stop();
    }
  });

  it('fails a reserve that was not carried out, so that the worker can log it', async () => {
    const connection = world.connect({ url: `redis://127.0.0.1:${await freePort()}/0` });
    await expect(world.clock.passing(reserveFrom(connection, request))).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
    });
  });

  it('says of an unanswered push that it may have been carried out', async () => {
    const connection = world.connect({ url: proxy.url });
    await connection.queues.counts('q');
    proxy.goSilent();
    await expect(world.clock.passing(connection.push('q', [{ payload: payload('a') }]))).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      message: expect.stringContaining('unless only its answer was lost') as string,
      facts: { uncertain: true },
    });
  });

  it('repeats an unanswered reserve on another connection until it is answered, and logs it once', async () => {
    const warnings: string[] = [];
    const logger: Logger = { ...silent, warn: (_, message) => warnings.push(message) };
    const connection = world.connect({ url: proxy.url }, { logger });
    await connection.push('q', [{ payload: payload('a') }]);
    await reserveFrom(connection, { ...request, queues: ['none'] });
    proxy.goSilent();
    const reserved = reserveFrom(connection, request);
    await eventually(() => {
      world.clock.advance(1);
      return proxy.connections >= 4;
    });
    expect(connection.isAway).toBe(true);
    proxy.heal();
    expect((await world.clock.passing(reserved)).reservations).toHaveLength(1);
    expect(connection.isAway).toBe(false);
    expect(warnings).toEqual([expect.stringContaining('repeated')]);
  });

  it('does not connect again once it is closed, even if calls are waiting', async () => {
    const connection = world.connect({ url: proxy.url });
    await reserveFrom(connection, { ...request, queues: ['none'] });
    proxy.goSilent();
    const reserved = [reserveFrom(connection, request), reserveFrom(connection, request)].map(failureOf);
    await world.clock.passing(connection.close());
    const { connections } = proxy;
    expect(await Promise.all(reserved)).toEqual([expect.any(QueueUnavailableError), expect.any(QueueUnavailableError)]);
    expect(proxy.connections).toBe(connections);
  });

  it('can be closed while it asks which jobs were cancelled', async () => {
    // No deadline ever passes, so a close that waited for the question would wait for ever.
    const clock: Clock = { ...systemClock, after: () => ({ cancel: () => undefined }) };
    const connection = world.connect({ url: proxy.url }, { clock });
    await connection.push('q', [{ payload: payload('a') }]);
    const { reservations } = await reserveFrom(connection, request);
    proxy.goSilent();
    const look = failureOf(connection.control.cancelled!(reservations));

    await connection.close();

    expect(await look).toBeInstanceOf(QueueUnavailableError);
  });

  it('accepts an answer that arrived while a job blocked the event loop past the deadline', async () => {
    const connection = world.connect();
    await connection.queues.counts('q');
    const pushed = connection.push('q', [{ payload: payload('a') }]);
    await endOfTurn();
    // The event loop stands still until Redis has carried out the push and answered it.
    const ready = ['-p', String(world.server.port), 'llen', `${world.prefix}q`];
    while (spawnSync('redis-cli', ready, { encoding: 'utf8' }).stdout.trim() !== '1');
    world.clock.advance(DEADLINE);
    await pushed;
    expect(await connection.queues.counts('q')).toMatchObject({ ready: 1 });
  });

  it.each([
    ['a wrong password', 'wrong', 'WRONGPASS'],
    ['a missing password', '', 'NOAUTH'],
  ])('refuses %s at once, in the words of the server', async (_, password, words) => {
    const server = await startRedisServer({ args: ['--requirepass', 'right'] });
    const connection = world.connect({ url: undefined, port: server.port, password });
    try {
      const failure = await failureOf(connection.push('q', [{ payload: payload('a') }]));
      expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { uncertain: false } });
      expect(failure.message).toContain(words);
      expect(failure.message).not.toMatch(/wrong|right/);
    } finally {
      await connection.close();
      await server.stop();
    }
  });

  it('refuses a host that does not exist at once', async () => {
    const connection = world.connect({ url: 'redis://no-such-host.invalid:6379' });
    await expect(connection.push('q', [{ payload: payload('a') }])).rejects.toThrow(/ENOTFOUND|EAI_AGAIN/);
  });

  it('loads its scripts again when the server has forgotten them', async () => {
    const connection = world.connect();
    await connection.push('q', [{ payload: payload('a') }]);
    await world.client.script('FLUSH');
    await connection.push('q', [{ payload: payload('b') }]);
    expect((await reserveFrom(connection, request)).reservations).toHaveLength(2);
  });

  it('reports a full server in its own words, and still settles and reserves', async () => {
    const connection = world.connect();
    await connection.push(
      'q',
      ['a', 'b', '7'].map((id) => ({ payload: payload(id) })),
    );
    await connection.push('q', [{ payload: 'no JSON' }, { payload: payload('c') }]);
    const [first] = (await reserveFrom(connection, { ...request, limit: 1 })).reservations;
    await world.client.config('SET', 'maxmemory', '1');
    try {
      await expect(connection.push('q', [{ payload: payload('d') }])).rejects.toThrow('OOM');
      const outcome = { outcome: 'completed', reservation: first! } as const;
      const { results, reply } = await connection.exchange([outcome], request);
      expect([results, reply.reservations.length, reply.setAside.length]).toEqual([['settled'], 3, 1]);
      expect((await reserveFrom(connection, request)).reservations).toEqual([]);
    } finally {
      await world.client.config('SET', 'maxmemory', '0');
    }
  });

  it('hands out waiting jobs of a full server', async () => {
    const connection = world.connect();
    await connection.push('q', [{ payload: payload('a') }]);
    await world.client.config('SET', 'maxmemory', '1');
    try {
      expect((await reserveFrom(connection, request)).reservations).toHaveLength(1);
    } finally {
      await world.client.config('SET', 'maxmemory', '0');
    }
  });

  it('promotes and reclaims on a full server', async () => {
    const connection = world.connect();
    await connection.push('q', [{ payload: payload('a') }]);
    await reserveFrom(connection, { ...request, lease: 100 });
    await connection.push('q', [{ payload: payload('b'), delay: 100 }]);
    world.offset = 500;
    await world.client.config('SET', 'maxmemory', '1');
    try {
      expect((await reserveFrom(connection, request)).reservations).toHaveLength(2);
    } finally {
      await world.client.config('SET', 'maxmemory', '0');
    }
  });

  it('names a foreign key', async () => {
    const connection = world.connect();
    await world.client.set(`${world.prefix}q`, 'not a list');
    await expect(connection.push('q', [{ payload: payload('a') }])).rejects.toMatchObject({
      code: 'E_REDIS_FOREIGN_KEY',
      facts: { key: `${world.prefix}q`, type: 'string', expected: 'list' },
    });
  });
});

describe('a redis waiter whose connection fails', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });
  beforeEach(() => world.fresh());
  afterEach(() => world.closeConnections());
  afterAll(() => world.stop());

  const blocked = async (): Promise<string | undefined> => {
    const clients = (await world.client.client('LIST')) as string;
    return /id=(\d+).*cmd=blpop/.exec(clients)?.[1];
  };

  it('waits again after its blocking connection was killed', async () => {
    const connection = world.connect();
    const waited = waitOn(connection, ['q'], 60, never);
    const id = await eventually(blocked);
    await world.client.client('KILL', 'ID', id!);
    await eventually(async () => {
      const again = await blocked();
      return again !== undefined && again !== id;
    });
    await connection.push('q', [{ payload: payload('a') }]);
    await waited;
    expect(await world.client.exists(`${world.prefix}q:notify`)).toBe(0);
  });

  it('ends in time on a silent connection, and then reads on another', async () => {
    const proxy = await FaultyProxy.start(world.server.port);
    const connection = world.connect({ url: proxy.url });
    await waitOn(connection, ['q'], 0.01, never);
    proxy.goSilent();
    await waitOn(connection, ['q'], 0.02, never);
    proxy.heal();
    const before = proxy.connections;
    await eventually(async () => {
      await waitOn(connection, ['q'], 0.02, never);
      return proxy.connections > before;
    });
    await connection.close();
    await proxy.stop();
  });

  it('gives back a hint that arrives when nobody waits any more', async () => {
    const connection = world.connect();
    const given = new AbortController();
    const waited = waitOn(connection, ['q'], 60, given.signal);
    await eventually(blocked);
    given.abort();
    await waited;
    await connection.push('q', [{ payload: payload('a') }]);
    await eventually(async () => (await world.client.llen(`${world.prefix}q:notify`)) === 1);
  });

  it('waits two seconds at most, whatever time is requested', async () => {
    const asked: number[] = [];
    const after: Clock['after'] = (milliseconds, callback) => {
      asked.push(milliseconds);
      void Promise.resolve().then(callback);
      return { cancel: () => {} };
    };
    const connection = world.connect({}, { clock: { ...systemClock, after } });
    await waitOn(connection, ['q'], Infinity, never);
    expect(asked[0]).toBe(2000);
  });
});

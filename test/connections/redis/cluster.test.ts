import { Cluster } from 'ioredis';
import { RedisWorld } from './open-redis';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;

describe('a redis connection to a cluster', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.startCluster();
  });

  beforeEach(() => world.fresh());
  afterEach(() => world.closeConnections());
  afterAll(() => world.stop());

  it.each(['from an address', 'from a client'])('moves jobs of several queues, %s', async (from) => {
    const client = new Cluster([world.url], { lazyConnect: true });
    const connection = world.connect({
      url: undefined,
      ...(from === 'from a client' ? { client } : { cluster: [world.url] }),
    });
    await connection.push('high', [{ payload: payload('a') }, { payload: payload('b') }]);
    await connection.push('low', [{ payload: payload('c') }]);
    const request = { queues: ['high', 'low'], limit: 3, lease: 60 };
    const { reservations, nextIn } = await connection.reserve(request);
    expect(reservations.map(({ queue }) => queue)).toEqual(['high', 'high', 'low']);
    expect(nextIn).toBeGreaterThan(50);
    const { results, reply } = await connection.settleAndReserve(
      reservations.map((reservation) => ({ outcome: 'completed', reservation })),
      request,
    );
    expect([results, reply.nextIn]).toEqual([['settled', 'settled', 'settled'], Infinity]);
    expect(await connection.queues()).toEqual(['high', 'low']);
  });

  it('gives no job that runs apart to who takes another by the same call, from another slot', async () => {
    const connection = world.connect({ url: undefined, cluster: [world.url] });
    await connection.push('high', [{ payload: payload('a') }]);
    await connection.push('low', [{ payload: payload('b').replace('"attempts"', '"crashes":2,"attempts"') }]);
    const request = { queues: ['high', 'low'], limit: 9, lease: 60, apart: { crashes: 2, alone: true } };
    const replies = [await connection.reserve(request), await connection.reserve(request)];
    expect(replies.map(({ reservations }) => reservations.map(({ queue }) => queue))).toEqual([['high'], ['low']]);
    expect(replies.map(({ apart }) => apart)).toEqual([true, undefined]);
  });

  it('wakes a worker that waits on queues of several slots', async () => {
    const connection = world.connect({ url: undefined, cluster: [world.url] });
    const waited = connection.waiter(['one', 'two']).wait(2, new AbortController().signal);
    await connection.push('two', [{ payload: payload('a') }]);
    await waited;
    expect(await connection.counts('two')).toMatchObject({ ready: 1 });
  });

  it('keeps all keys of a queue in one slot', async () => {
    const connection = world.connect({ url: undefined, cluster: [world.url] });
    await connection.push('q', [{ payload: payload('a'), delay: 100 }]);
    const keys = Object.keys(await world.keys());
    expect(keys.filter((key) => key !== ':queues').every((key) => key.startsWith('{q}'))).toBe(true);
  });
});

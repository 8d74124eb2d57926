import { Cluster } from 'ioredis';
import type { RedisConnection } from '../../../src/connections/redis/connection';
import type { Wanted } from '../../../src/connections/contract';
import { TestClock } from '../../../src/testing/test-clock';
import { eventually } from '../../support/eventually';
import { meantToPass } from '../../support/meant-to-pass';
import { RedisWorld } from './open-redis';
import { reserveFrom, settleIn, waitOn } from '../../support/exchange';

const never = new AbortController().signal;
const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;

describe('a redis connection to a cluster', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.startCluster();
  });

  beforeEach(() => world.fresh());
  afterEach(() => world.closeConnections());
  afterAll(() => world.stop());

  const blocked = async (): Promise<number> =>
    Number(/blocked_clients:(\d+)/.exec(await world.client.info('clients'))?.[1]);

  it.each(['from an address', 'from a client'])('moves jobs of several queues, %s', async (from) => {
    const client = new Cluster([world.url], { lazyConnect: true });
    const connection = world.connect({
      url: undefined,
      ...(from === 'from a client' ? { client } : { cluster: [world.url] }),
    });
    await connection.push('high', [{ payload: payload('a') }, { payload: payload('b') }]);
    await connection.push('low', [{ payload: payload('c') }]);
    const request = { queues: ['high', 'low'], limit: 3, lease: 60 };
    const { reservations, nextIn } = await reserveFrom(connection, request);
    expect(reservations.map(({ queue }) => queue)).toEqual(['high', 'high', 'low']);
    expect(nextIn).toBeGreaterThan(50);
    const results = await settleIn(
      connection,
      reservations.map((reservation) => ({ outcome: 'completed', reservation })),
    );
    const reply = await reserveFrom(connection, request);
    expect([results, reply.nextIn]).toEqual([['settled', 'settled', 'settled'], Infinity]);
    expect(await connection.queues.names()).toEqual(['high', 'low']);
  });

  it('wakes a worker that waits on queues of several slots', async () => {
    const connection = world.connect({ url: undefined, cluster: [world.url] }, { clock: new TestClock() });
    const waited = waitOn(connection, ['one', 'two'], 2, never);
    await connection.push('two', [{ payload: payload('a') }]);
    await waited;
    expect(await connection.queues.counts('two')).toMatchObject({ ready: 1 });
  });

  it('waits on the first eight of its queues, and looks at all of them each second if it has more', async () => {
    const clock = new TestClock();
    const connection = world.connect({ url: undefined, cluster: [world.url] }, { clock });
    const queues = Array.from({ length: 9 }, (_, at) => `q${at}`);
    const waited = waitOn(connection, queues, 2, never);
    await eventually(async () => (await blocked()) === 8, { of: 'eight blocking reads' });
    await clock.advance(1);
    await expect(waited).resolves.toMatchObject({ reservations: [] });
  });

  it('keeps all keys of a queue in one slot', async () => {
    const connection = world.connect({ url: undefined, cluster: [world.url] });
    await connection.push('q', [{ payload: payload('a'), delay: 100 }]);
    const keys = Object.keys(await world.keys());
    expect(keys.filter((key) => key !== ':queues').every((key) => key.startsWith('{q}'))).toBe(true);
  });

  describe('calls each master as rarely as possible', () => {
    let connection: RedisConnection;
    const request: Wanted = { queues: ['high', 'low'], limit: 4, lease: 60 };

    beforeEach(async () => {
      connection = world.connect({ url: undefined, cluster: [world.url] });
      await reserveFrom(connection, { ...request, queues: ['high', 'low', 'other'] });
      for (const queue of ['high', 'low', 'other']) {
        await connection.push(
          queue,
          ['a', 'b', 'c'].map((id) => ({ payload: payload(`${queue}-${id}`) })),
        );
      }
    });

    const calls = async (): Promise<number> =>
      Number(/cmdstat_evalsha:calls=(\d+)/.exec(await world.client.info('commandstats'))?.[1] ?? 0);

    it('settles the outcomes of a queue in one call, which also reserves if a reserve of the same turn asks that queue first', async () => {
      const { reservations } = await reserveFrom(connection, {
        ...request,
        queues: ['high', 'low', 'other'],
        limit: 9,
      });
      await world.client.config('RESETSTAT');
      const [results, reply] = await Promise.all([
        settleIn(
          connection,
          reservations.map((reservation) => ({ outcome: 'completed', reservation })),
        ),
        reserveFrom(connection, { ...request, queues: ['low', 'high'] }),
      ]);
      expect(results).toEqual(Array(9).fill('settled'));
      expect(reply.reservations).toEqual([]);
      // Settles on 'high' and 'other', settles and reserves on 'low' in one call, and reserves on 'high'.
      expect(await calls()).toBe(4);
    });

    it('returns each outcome its own result', async () => {
      const { reservations } = await reserveFrom(connection, { ...request, limit: 6 });
      const [, lost] = reservations;
      await settleIn(connection, [{ outcome: 'completed', reservation: lost! }]);
      const results = await settleIn(
        connection,
        [5, 1, 0, 3].map((at) => ({ outcome: 'completed', reservation: reservations[at]! })),
      );
      expect(results).toEqual(['settled', 'lost', 'settled', 'settled']);
    });

    it('promotes and reclaims once a second in queues that a reserve does not reach', async () => {
      const clock = new TestClock();
      connection = world.connect({ url: undefined, cluster: [world.url] }, { clock });
      const reserve = () => reserveFrom(connection, { ...request, limit: 1 });
      await reserve();
      await world.client.config('RESETSTAT');
      await reserve();
      const soon = await calls();
      await clock.advance(1);
      await reserve();
      expect([soon, await calls()]).toEqual([1, 3]);
    });
  });

  it('says at its deadline that its slots are not served and that nothing was queued', async () => {
    const connection = world.connect({ url: undefined, cluster: [world.url] });
    const hasty = world.connect({ url: undefined, cluster: [world.url] }, { deadline: meantToPass(3) });
    const slot = await world.client.call('cluster', 'keyslot', '{q}');
    await connection.push('q', [{ payload: payload('a') }]);
    await world.client.call('cluster', 'delslots', String(slot));
    await expect(hasty.push('q', [{ payload: payload('b') }])).rejects.toMatchObject({
      message: expect.stringContaining('CLUSTERDOWN') as string,
      facts: { refused: true, uncertain: false },
    });
    await world.client.call('cluster', 'addslots', String(slot));
    await eventually(() => connection.push('q', [{ payload: payload('c') }]).then(() => true));
  });

  it.each([
    ['with one unknown host name', ['redis://nowhere.invalid:7000'], /nowhere\.invalid/],
    ['on a port without a server', ['redis://127.0.0.1:1'], /ECONNREFUSED/],
  ])('%s says why it is away', async (_, nodes, reason) => {
    const connection = world.connect({ url: undefined, cluster: nodes });
    await expect(world.clock.passing(connection.push('q', [{ payload: payload('a') }]))).rejects.toThrow(reason);
  });

  it('is diagnosed for unserved slots and for masters without a replica', async () => {
    const connection = world.connect({ url: undefined, cluster: [world.url] });
    const check = async () => (await connection.diagnose()).find(({ subject }) => subject === 'cluster');
    expect(await check()).toMatchObject({ level: 'warning', message: expect.stringContaining('1 of 1 masters') });
    await world.client.call('cluster', 'delslots', '5');
    await eventually(async () => (await check())?.message.includes('16383 of 16384 slots'));
    await world.client.call('cluster', 'addslots', '5');
    await eventually(async () => String(await world.client.call('cluster', 'info')).includes('cluster_state:ok'));
  });

  it('is diagnosed at once if only some of its slots are served', async () => {
    const connection = world.connect({ url: undefined, cluster: [world.url] });
    const slot = String(await world.client.call('cluster', 'keyslot', '{default}'));
    await world.client.config('SET', 'cluster-require-full-coverage', 'no');
    await world.client.call('cluster', 'delslots', slot);

    const found = await connection.diagnose();

    await world.client.call('cluster', 'addslots', slot);
    await world.client.config('SET', 'cluster-require-full-coverage', 'yes');
    await eventually(async () => String(await world.client.call('cluster', 'info')).includes('cluster_state:ok'));
    expect(found.find(({ subject }) => subject === 'cluster')).toEqual({
      level: 'error',
      subject: 'cluster',
      message: 'a part of it is down: 16383 of 16384 slots are served. Look at CLUSTER NODES.',
    });
  });

  it('is found through one of its nodes if others are unknown', async () => {
    const connection = world.connect({ url: undefined, cluster: ['redis://nowhere.invalid:7000', world.url] });
    await connection.push('q', [{ payload: payload('a') }]);
    expect(await connection.queues.counts('q')).toMatchObject({ ready: 1 });
  });
});

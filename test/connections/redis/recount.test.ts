/** Unique keys and batches of a Redis from which jobs or keys were removed by hand. */
import type { Connection, Entry } from '../../../src/connections/contract';
import type { RedisConnection } from '../../../src/connections/redis/connection';
import { uniqueKey, withTies, type Ties } from '../../../src/payload/ties';
import { begin, completed, newBatch } from '../sql/server/batches';
import { idOf, payload, reserve } from '../sql/open-database';
import { RedisWorld } from './open-redis';
import { settleIn } from '../../support/exchange';

const repair = { repair: true };
const keyOf = (id: string): string => uniqueKey('Probe', id);

const tied = (id: string, until: 'start' | 'end' = 'end', more: Ties = {}): Entry => {
  const ties = { unique: { key: keyOf(id), until }, ...more };
  return { payload: withTies(payload(id), ties), ties };
};
const stuck = (id: string) => ({ kind: 'stuck', key: keyOf(id), holder: id });

describe.each(['redis', 'cluster'])('what was removed by hand from %s', (kind) => {
  let world: RedisWorld;
  let connection: RedisConnection;

  beforeAll(async () => {
    world = await (kind === 'redis' ? RedisWorld.start() : RedisWorld.startCluster());
  });
  beforeEach(() => {
    world.fresh();
    connection = connect();
  });
  afterEach(() => world.closeConnections());
  afterAll(() => world.stop());

  const connect = (): RedisConnection =>
    kind === 'cluster' ? world.connect({ url: undefined, cluster: [world.url] }) : world.connect();
  const key = (): string => `${world.prefix}${kind === 'cluster' ? '{default}' : 'default'}`;

  const counted = async (): Promise<unknown> => {
    const { pending, completed: done, failed, skipped } = (await connection.batches.find('batch'))!;
    return [pending, done, failed, skipped];
  };

  it('frees the unique keys of jobs that are gone, and no others', async () => {
    await connection.push('default', [tied('runs'), tied('gone'), tied('waits', 'start')]);
    await connection.push('default', [{ ...tied('later'), delay: 60 }]);
    await reserve(connection, { limit: 1 });
    expect(await connection.keys.recount(repair)).toEqual([]);
    await world.client.lrem(key(), 1, tied('gone').payload);
    expect(await connection.keys.recount({ repair: false })).toEqual([stuck('gone')]);
    expect(await connection.push('default', [tied('gone')])).toEqual([{ duplicate: 'gone' }]);
    expect(await connection.keys.recount(repair)).toEqual([stuck('gone')]);
    expect(await connection.keys.recount(repair)).toEqual([]);
    const again = ['runs', 'gone', 'waits', 'later'].map((id) => tied(id));
    expect(await connection.push('default', again)).toEqual([
      { duplicate: 'runs' },
      'queued',
      { duplicate: 'waits' },
      { duplicate: 'later' },
    ]);
  });

  it('frees all unique keys of a deleted queue', async () => {
    await connection.push('default', [tied('a'), tied('b')]);
    await world.client.del(key());
    expect(await connection.keys.recount(repair)).toEqual(expect.arrayContaining([stuck('a'), stuck('b')]));
    expect(await connection.push('default', [tied('a'), tied('b')])).toBeUndefined();
  });

  it('restores the unique keys of jobs that should hold them until their end', async () => {
    await connection.push('default', [tied('a'), tied('b', 'start')]);
    await world.client.del(kind === 'cluster' ? `${key()}:unique` : `${world.prefix}:unique`);
    expect(await connection.keys.recount(repair)).toEqual([{ kind: 'unheld', key: keyOf('a'), holder: 'a' }]);
    expect(await connection.push('default', [tied('a')])).toEqual([{ duplicate: 'a' }]);
    await settleIn(connection, (await reserve(connection, { limit: 1 })).map(completed));
    expect(await connection.keys.recount(repair)).toEqual([]);
    expect(await connection.push('default', [tied('a')])).toBeUndefined();
  });

  it('counts the jobs of batches again, and finishes batches that have none left', async () => {
    const own = { callbacks: newBatch().callbacks.map((callback) => ({ ...callback, queue: 'default' })) };
    await begin(connection, ['a', 'b', 'c'], newBatch('batch', own));
    await settleIn(connection, (await reserve(connection, { limit: 1 })).map(completed));
    await world.client.ltrim(key(), 1, -1);
    const found = { kind: 'miscounted', batch: 'batch', pending: 2, found: 1 };
    expect(await connection.keys.recount({ repair: false })).toEqual([found]);
    expect(await counted()).toEqual([2, 1, 0, 0]);
    expect(await connection.keys.recount(repair)).toEqual([found]);
    expect(await counted()).toEqual([1, 1, 0, 1]);
    await world.client.del(key());
    await connection.keys.recount(repair);
    expect(await connection.keys.recount(repair)).toEqual([]);
    expect(await counted()).toEqual([0, 1, 0, 2]);
    expect((await reserve(connection)).map(idOf)).toEqual(['finally-batch', 'next-batch']);
  });

  it('finds nothing while workers reserve, complete and release jobs and others push them', async () => {
    let isOver = false;
    const work = async (client: Connection, at: number): Promise<void> => {
      for (let round = 0; round < 60; round += 1) {
        const batch = newBatch(`batch-${at}-${round}`, { callbacks: [] });
        const members = ['a', 'b', 'c'].map((name) =>
          tied(`${at}-${round}-${name}`, round % 2 === 0 ? 'end' : 'start', { batch: { id: batch.id, weight: 1 } }),
        );
        await client.push('default', members, batch);
        const [first, ...others] = await reserve(client, { limit: 3 });
        const { counters } = first!;
        const released = { outcome: 'released' as const, reservation: first!, delay: round % 3, counters };
        await settleIn(client, [released, ...others.map(completed)]);
      }
    };
    const working = Promise.all([0, 1, 2].map((at) => work(connect(), at))).finally(() => (isOver = true));
    let looks = 0;
    for (; !isOver; looks += 1) expect(await connection.keys.recount(repair)).toEqual([]);
    await working;
    expect(looks).toBeGreaterThan(1);
  });
});

describe('a recount of redis', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start();
    world.fresh();
  });
  afterAll(() => world.stop());

  it('finds the jobs of all queues even if the list of queue names is gone', async () => {
    const connection = world.connect();
    await connection.push('default', [tied('a')]);
    await connection.push('other:queue', [{ ...tied('b'), delay: 60 }]);
    await connection.push('running', [tied('c')]);
    await reserve(connection, { queues: ['running'] });
    await world.client.del(`${world.prefix}:queues`);
    expect(await connection.keys.recount(repair)).toEqual([]);
  });
});

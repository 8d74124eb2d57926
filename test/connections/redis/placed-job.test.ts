import type { RedisConnection } from '../../../src/connections/redis/connection';
import { Keys } from '../../../src/connections/redis/keys';
import { findJob } from '../../../src/connections/redis/queues';
import type { RedisStore } from '../../../src/connections/redis/store';
import { RedisWorld } from './open-redis';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;

describe('looking for a job on redis', () => {
  let world: RedisWorld;
  let connection: RedisConnection;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  beforeEach(async () => {
    world.fresh();
    connection = world.connect();
    await connection.push('long', [{ payload: payload('first') }]);
    await connection.push('short', [{ payload: payload('a') }]);
  });

  afterEach(() => world.closeConnections());

  afterAll(() => world.stop());

  const fill = async (count: number): Promise<void> => {
    const texts = Array.from({ length: count }, (_, at) => payload(`r${at}`));
    await world.client.rpush(`${world.prefix}long`, ...texts);
  };
  const delay = async (count: number): Promise<void> => {
    const scored = Array.from({ length: count }, (_, at) => [String(at + 1), payload(`d${at}`)]).flat();
    await world.client.zadd(`${world.prefix}long:delayed`, ...scored);
  };

  it('finds a job at the ends of a long queue or in another one, and reports other ids as unseen', async () => {
    await fill(1000);

    expect(await connection.queues.find('first')).toMatchObject({ queue: 'long', state: 'ready' });
    expect(await connection.queues.find('r999')).toMatchObject({ queue: 'long', state: 'ready' });
    expect(await connection.queues.find('a')).toMatchObject({ queue: 'short', state: 'ready' });
    expect(await connection.queues.find('r500')).toBe('unseen');
    expect(await connection.queues.find('nobody')).toBe('unseen');
  });

  it('finds a job anywhere in a named queue, and knows if an id is not there', async () => {
    await fill(1000);

    expect(await connection.queues.find('r500', 'long')).toMatchObject({ queue: 'long', state: 'ready' });
    expect(await connection.queues.find('nobody', 'long')).toBeUndefined();
    expect(await connection.queues.find('a', 'long')).toBeUndefined();
  });

  it('searches about the last ten thousand jobs of a named queue', async () => {
    await fill(11_000);

    expect(await connection.queues.find('r2000', 'long')).toMatchObject({ state: 'ready' });
    expect(await connection.queues.find('r500', 'long')).toBe('unseen');
  });

  it('reports an id as unseen if it has not examined all delayed jobs', async () => {
    await fill(300);
    await delay(150);

    expect(await connection.queues.find('r150', 'long')).toMatchObject({ state: 'ready' });
    expect(await connection.queues.find('d50', 'long')).toMatchObject({ state: 'delayed', at: 51_000 });
    expect(await connection.queues.find('d120', 'long')).toBe('unseen');
  });

  it.each([
    [
      'finds a job that a worker reserves during the search',
      ['found', 'reserved', payload('r'), '5'],
      { state: 'reserved', at: 5000 },
    ],
    ['reports a job as gone that was removed during the search', ['unknown'], undefined],
    ['reports an id as unseen if other jobs came during the search', ['unseen', 100, 1], 'unseen'],
  ])('%s', async (_, last, expected) => {
    const answers: unknown[][] = [['unseen', 100, 0], ['unseen', 190, 0], ['unknown'], last];
    const caller = {
      script: async () => answers.shift()!.map((each) => (typeof each === 'string' ? Buffer.from(each) : each)),
    };
    const store = { caller, keys: new Keys('t:', false) } as unknown as RedisStore;

    const found = await findJob(store, 'r', 'long');

    expect([found]).toMatchObject([expected]);
    expect(answers).toEqual([]);
  });
});

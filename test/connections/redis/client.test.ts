import type { EventEmitter } from 'node:events';
import Redis, { Cluster } from 'ioredis';
import { clientSource } from '../../../src/connections/redis/client';
import type { RedisConfig } from '../../../src/connections/redis/driver';
import { meantToPass } from '../../support/meant-to-pass';
import { eventually } from '../../support/eventually';
import { RedisWorld } from './open-redis';
import { reserveFrom, settleIn, waitOn } from '../../support/exchange';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const addressOf = (config: Partial<RedisConfig>): string => clientSource({ driver: 'redis', ...config }).address;

describe('the address of a redis connection', () => {
  it.each([
    [{}, 'redis://127.0.0.1:6379/0'],
    [{ url: 'redis://user:secret@example.org:7000/3' }, 'redis://example.org:7000/3'],
    [{ url: 'rediss://:secret@example.org' }, 'rediss://example.org:6379/0'],
    [{ host: 'example.org', port: 7000, db: 2, password: 'secret', tls: true }, 'rediss://example.org:7000/2'],
    [{ path: '/run/redis.sock', password: 'secret' }, 'unix:/run/redis.sock/0'],
    [
      { sentinels: [{ host: 'a', port: 1 }, { host: 'b' }], name: 'main', password: 'secret' },
      'main of the sentinels a:1, b:6379',
    ],
    [{ cluster: ['redis://:secret@a:7000', { host: 'b' }], password: 'secret' }, 'cluster redis://a:7000, b:6379'],
    [{ client: new Redis('redis://:secret@example.org:7000/1', { lazyConnect: true }) }, 'redis://example.org:7000/1'],
    [{ client: new Cluster([{ host: 'a', port: 7000 }], { lazyConnect: true }) }, 'cluster a:7000'],
  ])('names the server without a password (case %#)', (config, address) => {
    expect(addressOf(config as Partial<RedisConfig>)).toBe(address);
  });
});

describe('a redis connection on a client of the user', () => {
  let world: RedisWorld;
  let client: Redis;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  beforeEach(() => {
    world.fresh();
    client = new Redis(world.url, {
      lazyConnect: true,
      keyPrefix: `${world.prefix}app:`,
      commandTimeout: meantToPass(250),
      enableAutoPipelining: true,
      stringNumbers: true,
    });
  });

  afterEach(async () => {
    await world.closeConnections();
    client.disconnect();
  });

  afterAll(() => world.stop());

  it('works with any options, and its key prefix comes before ours', async () => {
    const connection = world.connect({ url: undefined, client, prefix: 'jobs:' });
    await connection.push('q', [{ payload: payload('a') }]);
    await waitOn(connection, ['q'], 0.3, new AbortController().signal);
    const { reservations } = await reserveFrom(connection, { queues: ['q'], limit: 1, lease: 60 });
    expect(
      await settleIn(
        connection,
        reservations.map((reservation) => ({ outcome: 'completed', reservation })),
      ),
    ).toEqual(['settled']);
    expect(Object.keys(await world.keys()).filter((key) => !key.includes(':client:'))).toEqual(['app:jobs::queues']);
  });

  it('neither closes nor changes the client', async () => {
    const before = { ...client.options };
    const connection = world.connect({ url: undefined, client });
    await connection.push('q', [{ payload: payload('a') }]);
    await connection.close();
    expect(client.options).toEqual(before);
    await eventually(async () => (await client.ping()) === 'PONG');
  });
});

describe('a socket of a redis connection', () => {
  let world: RedisWorld;

  const breakTwice = async (client: Redis | Cluster): Promise<void> => {
    client.on('error', () => undefined);
    await client.ping();
    const sockets = client.isCluster ? (client as Cluster).nodes() : [client as Redis];
    for (const { stream } of sockets) {
      (stream as unknown as EventEmitter).emit('error', new Error('the first'));
      (stream as unknown as EventEmitter).emit('error', new Error('the second'));
    }
    client.disconnect();
  };

  afterEach(() => world.stop());

  it.each<[string, (url: string) => Partial<RedisConfig>]>([
    ['an address', (url) => ({ url })],
    ['a client of the user', (url) => ({ client: new Redis(url, { lazyConnect: true }) })],
  ])('survives a second error without ending the process, with %s', async (_, config) => {
    world = await RedisWorld.start();
    const { open } = clientSource({ driver: 'redis', ...config(world.url) });
    await expect(breakTwice(open(() => null))).resolves.toBeUndefined();
  });

  it('survives a second error without ending the process, in a cluster', async () => {
    world = await RedisWorld.startCluster();
    const { open } = clientSource({ driver: 'redis', cluster: [world.url] });
    await expect(breakTwice(open(() => null))).resolves.toBeUndefined();
  });
});

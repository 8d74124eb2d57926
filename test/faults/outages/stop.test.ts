import Redis from 'ioredis';
import { type RedisServer, startRedisServer } from '../../support/redis-server';
import { FaultyProxy } from '../kit/faulty-proxy';
import { OutageApplication } from './application';

interface World {
  readonly redis: RedisServer;
  readonly proxy: FaultyProxy;
  readonly busy: OutageApplication;
  readonly idle: OutageApplication;
}

const silences: [string, (world: World) => Promise<unknown>][] = [
  ['was killed', ({ redis }) => redis.stop()],
  ['stands still', async ({ redis }) => redis.process.kill('SIGSTOP')],
  ['is behind a network that passes nothing on', async ({ proxy }) => proxy.goSilent()],
  ['takes no writes', ({ redis }) => refuseWrites(redis)],
];

async function refuseWrites({ url }: RedisServer): Promise<void> {
  const admin = new Redis(url, { protocol: 2 });
  await admin.config('SET', 'min-replicas-to-write', '1');
  admin.disconnect();
}

async function open(): Promise<World> {
  const redis = await startRedisServer();
  const proxy = await FaultyProxy.start(redis.port);
  const busy = new OutageApplication({ url: proxy.url, prefix: 'busy:' });
  const idle = new OutageApplication({ url: proxy.url, prefix: 'idle:' });
  return { redis, proxy, busy, idle };
}

/** All connect at once, which may take longer than a dispatch waits, so one job must run before another is held. */
async function begin({ busy, idle }: World): Promise<void> {
  await Promise.all([busy.works(), idle.works()]);
  await Promise.all([busy.settled().then(() => busy.hold()), idle.settled()]);
}

/** Stops all at once, because each waits for the store as long as it may. */
const worlds = new Map<string, World>();

beforeAll(async () => {
  await Promise.all(
    silences.map(async ([name, fallSilent]) => {
      const world = await open();
      worlds.set(name, world);
      await begin(world);
      await fallSilent(world);
      await Promise.all([world.busy.worker.stop(), world.idle.worker.stop()]);
    }),
  );
});

afterAll(async () => {
  await Promise.all(
    [...worlds.values()].map(async ({ redis, proxy, busy, idle }) => {
      await Promise.all([busy.close(), idle.close()]);
      await proxy.stop();
      await redis.stop();
    }),
  );
});

describe.each(silences)('a worker whose redis %s', (name) => {
  it('ends when it is stopped while it runs a job, and logs what it left', () => {
    const { log } = worlds.get(name)!.busy;
    expect(log.messages('error').join()).toContain('stopped without settling 1 jobs');
  });

  it('ends when it is stopped while it runs nothing', () => {
    const { log, worker } = worlds.get(name)!.idle;
    expect(log.messages('error').join()).not.toContain('without settling');
    expect(worker.health().state).toBe('stopped');
  });
});

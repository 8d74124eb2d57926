import Redis from 'ioredis';
import { type RedisServer, startRedisServer } from '../../support/redis-server';
import { NO_FAULTS, OutageApplication } from './application';

let redis: RedisServer;
let admin: Redis;
let application: OutageApplication;

beforeEach(async () => {
  redis = await startRedisServer();
  admin = new Redis(redis.url, { protocol: 2 });
  application = new OutageApplication({ url: redis.url, deadline: '60s' });
  application.startTraffic();
  await application.progress();
});

afterEach(async () => {
  await application.close();
  admin.disconnect();
  await redis.stop();
});

it.each([
  ['forgets its scripts', (): Promise<unknown> => admin.script('FLUSH')],
  ['ends all connections', (): Promise<unknown> => admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')],
])('a redis that %s again and again under load loses no job and duplicates none', async (_what, disturb) => {
  for (let time = 0; time < 10; time += 1) {
    await disturb();
    await application.progress();
  }

  await application.settled();
  expect(application.faults).toEqual(NO_FAULTS);
  expect(application.said).toEqual([]);
});

it('a redis that is emptied under load is logged, and jobs pushed from then on run once', async () => {
  await admin.flushall();
  await application.progress();

  await application.settled();
  expect(application.faults).toMatchObject({ twice: [], denied: [] });
  expect(application.said).toEqual([expect.stringContaining('has lost data that it had confirmed')]);
  expect(await application.driver.queues.names()).toEqual(['default']);
});

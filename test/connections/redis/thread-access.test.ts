import Redis, { Cluster } from 'ioredis';
import { sourceOfThread } from '../../../src/connections/redis/client';
import { connectRedis, type RedisConnection } from '../../../src/connections/redis/connection';
import type { RedisConfig } from '../../../src/connections/redis/driver';
import { systemClock } from '../../../src/base/clock';
import { silentLogger } from '../../../src/base/logger';

const open = (config: Omit<RedisConfig, 'driver'>): RedisConnection =>
  connectRedis(
    { driver: 'redis', ...config },
    { name: 'main', clock: systemClock, logger: silentLogger, deadline: 60 },
  );
const options = (config: Omit<RedisConfig, 'driver'>): object => open(config).threadAccess?.data as object;

describe('the data for a thread to reach the same Redis', () => {
  it('survives a structured clone and names the same server', () => {
    const data = structuredClone(options({ url: 'rediss://user:secret@host:1234/3', prefix: 'jobs:' }));

    expect(data).toMatchObject({ prefix: 'jobs:', options: { options: { password: 'secret', db: 3 } } });
    const { options: given } = data as { options: Parameters<typeof sourceOfThread>[0] };
    expect(sourceOfThread(given).address).toBe('rediss://host:1234/3');
  });

  it('can be made from a client of the user, with its key prefix and without its strategies', () => {
    const client = new Redis({ host: 'host', keyPrefix: 'app:', lazyConnect: true, retryStrategy: () => 5 });

    const { options: given } = options({ client }) as { options: Parameters<typeof sourceOfThread>[0] };

    expect(sourceOfThread(given)).toMatchObject({ address: 'redis://host:6379/0', keyPrefix: 'app:' });
  });

  it('can be made from a cluster with its nodes', () => {
    const client = new Cluster([{ host: 'one', port: 7000 }], { lazyConnect: true, redisOptions: { password: 'x' } });

    const { options: given } = options({ client }) as { options: Parameters<typeof sourceOfThread>[0] };

    expect(sourceOfThread(given)).toMatchObject({ address: 'cluster one:7000', cluster: true });
  });

  it('is absent if a function decides whom to trust or where to connect', () => {
    expect(open({ host: 'host', tls: { checkServerIdentity: () => undefined } }).threadAccess).toBeUndefined();
    expect(open({ cluster: ['host:1'], options: { natMap: () => null } }).threadAccess).toBeUndefined();
  });
});

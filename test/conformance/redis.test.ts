import { systemClock } from '../../src/base/clock';
import { connectRedis } from '../../src/connections/redis/redis-connection';
import type { RedisConnection } from '../../src/connections/redis/redis-connection';
import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { startRedisServer } from '../support/redis-server';
import type { RedisServer } from '../support/redis-server';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

let server: RedisServer;
let stores = 0;

beforeAll(async () => {
  server = await startRedisServer();
});

afterAll(() => server.stop());

/** Each case has a key prefix of its own and moves the time by an offset that the scripts add to the server's clock. */
async function openRedis(): Promise<ConformanceHarness> {
  const config = { driver: 'redis', url: server.url, prefix: `store-${++stores}:` } as const;
  let offset = 0;
  const context = { name: 'redis', clock: systemClock, logger: silent, deadline: 5, offset: () => offset };
  const connections: RedisConnection[] = [];
  const connect = (): RedisConnection => {
    const connection = connectRedis(config, context);
    connections.push(connection);
    return connection;
  };
  return {
    connection: connect(),
    second: connect,
    advance: (seconds) => void (offset += seconds),
    dispose: async () => void (await Promise.all(connections.map((connection) => connection.close()))),
  };
}

describe('the redis driver', () => {
  it.each(conformance(openRedis))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

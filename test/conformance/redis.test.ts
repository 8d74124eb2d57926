import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { RedisWorld } from '../connections/redis/open-redis';

let world: RedisWorld;

beforeAll(async () => {
  world = await RedisWorld.start();
});

afterAll(() => world.stop());

/** Each case has a key prefix of its own and moves the time by an offset that the scripts add to the server's clock. */
async function openRedis(): Promise<ConformanceHarness> {
  world.fresh();
  return {
    connection: world.connect(),
    second: () => world.connect(),
    advance: (seconds) => void (world.offset += seconds),
    dispose: () => world.closeConnections(),
  };
}

describe('the redis driver', () => {
  it.each(conformance(openRedis))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

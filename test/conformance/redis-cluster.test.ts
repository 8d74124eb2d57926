import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { RedisWorld } from '../connections/redis/open-redis';

let world: RedisWorld;

beforeAll(async () => {
  world = await RedisWorld.startCluster();
});

afterAll(() => world.stop());

/** As on a single server, but with one call per queue: the keys of one queue share a slot, those of two queues do not. */
async function openCluster(): Promise<ConformanceHarness> {
  world.fresh();
  const connect = () => world.connect({ url: undefined, cluster: [world.url] });
  return {
    connection: connect(),
    second: connect,
    advance: (seconds) => void (world.offset += seconds),
    // The text between the first braces of a key decides its slot, and our keys have the name of the queue in braces.
    neighbour: (queue) => `${queue}}more`,
    dispose: () => world.closeConnections(),
  };
}

describe('the redis driver on a cluster', () => {
  it.each(conformance(openCluster))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

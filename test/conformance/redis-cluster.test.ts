import { conformance } from '../../src/testing/conformance';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { RedisWorld } from '../connections/redis/open-redis';

let world: RedisWorld;

beforeAll(async () => {
  world = await RedisWorld.startCluster();
});

afterAll(() => world.stop());

/** As on a single server, but one call for each queue: its keys share a slot, and no two queues' do. */
async function openCluster(): Promise<ConformanceHarness> {
  world.fresh();
  const connect = () => world.connect({ url: undefined, cluster: [world.url] });
  return {
    connection: connect(),
    second: connect,
    advance: (seconds) => void (world.offset += seconds),
    // What stands between the first braces of a key says where it is kept, and a name of ours stands in braces.
    neighbour: (queue) => `${queue}}more`,
    dispose: () => world.closeConnections(),
  };
}

describe('the redis driver on a cluster', () => {
  it.each(conformance(openCluster))('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

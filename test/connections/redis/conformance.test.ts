import { conformance } from '../../../src/testing/conformance';
import type { ConformanceHarness } from '../../../src/testing/conformance';
import { RedisWorld } from './open-redis';

describe('the redis driver', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  afterAll(() => world.stop());

  async function open(): Promise<ConformanceHarness> {
    world.fresh();
    return {
      connection: world.connect(),
      second: () => world.connect(),
      advance: (seconds) => world.advance(seconds),
      dispose: () => world.closeConnections(),
    };
  }

  for (const { name, run } of conformance(open)) it(name, run);
});

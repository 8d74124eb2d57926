/** The lanes of each store, after any sequence of steps: no more jobs are in than may be, and none is held without cause. */
import { connectMemory } from '../../src/connections/memory/connection';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { TestClock } from '../../src/testing/test-clock';
import { LaneModel, steps } from '../support/lane-model';
import * as fc from '../support/properties';
import { RedisWorld } from './redis/open-redis';

let redis: RedisWorld;

beforeAll(async () => {
  redis = await RedisWorld.start();
});

afterAll(() => redis.stop());

const STORES: Readonly<Record<string, () => Promise<ConformanceHarness>>> = {
  async memory() {
    const clock = new TestClock();
    const connection = connectMemory({ driver: 'memory' }, { name: 'memory', clock });
    return { connection, advance: (seconds) => clock.advance(seconds), dispose: () => connection.close() };
  },
  async redis() {
    redis.fresh();
    return {
      connection: redis.connect(),
      advance: (seconds) => redis.advance(seconds),
      dispose: () => redis.closeConnections(),
    };
  },
};

it.each(Object.keys(STORES))('lanes on %s let in what they may, and hold no more', async (store) => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const harness = await STORES[store]!();
      const model = new LaneModel(harness);
      for (const step of sequence) await model.take(step);
      await harness.dispose();
    }),
    { numRuns: 100 },
  );
});

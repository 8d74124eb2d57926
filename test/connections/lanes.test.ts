/** The lanes of each store, after any sequence of steps: no more jobs are in than may be, and none is held without cause. */
import { connectMemory } from '../../src/connections/memory/connection';
import type { Entry, Reservation } from '../../src/connections/contract';
import { readTies, withTies } from '../../src/payload/ties';
import type { ConformanceHarness } from '../../src/testing/conformance';
import { TestClock } from '../../src/testing/test-clock';
import { LaneModel, steps } from '../support/lane-model';
import * as fc from '../support/properties';
import { soakSize } from '../support/soak-size';
import { RedisWorld } from './redis/open-redis';
import { TemporaryDatabase } from './sql/open-database';

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
  async sqlite() {
    const clock = new TestClock();
    const database = new TemporaryDatabase();
    const connection = database.connect({}, { clock });
    return { connection, advance: (seconds) => clock.advance(seconds), dispose: () => database.dispose() };
  },
};

const laned = (id: string, key: string, running = 3): Entry => {
  const ties = { lane: { key, running, ordered: false } };
  return { payload: withTies(`{"job":"probe","data":{},"id":"${id}","attempts":0}`, ties), ties };
};

const laneOf = ({ payload }: Reservation): string => readTies(payload)!.lane!.key;

describe.each(Object.keys(STORES))('on %s', (store) => {
  let harness: ConformanceHarness;
  let running: Reservation[];

  beforeEach(async () => {
    running = [];
    harness = await STORES[store]!();
  });
  afterEach(() => harness.dispose());

  /** Works with six slots, one job ending at a time. The lanes of the jobs in the order in which they were handed out. */
  async function worked(count: number): Promise<{ order: string[]; most: ReadonlyMap<string, number> }> {
    const { connection } = harness;
    const order: string[] = [];
    const most = new Map<string, number>();
    while (order.length < count) {
      const ended = running.splice(0, 1).map((reservation) => ({ outcome: 'completed', reservation }) as const);
      const wanted = { queues: ['default'], limit: 6 - running.length, lease: 600 };
      const { reservations } = (await connection.exchange(ended, wanted)).reply;
      running.push(...reservations);
      order.push(...reservations.map(laneOf));
      for (const lane of new Set(running.map(laneOf)))
        most.set(lane, Math.max(most.get(lane) ?? 0, running.filter((one) => laneOf(one) === lane).length));
      if (ended.length + reservations.length === 0) break;
    }
    return { order, most };
  }

  it('ten jobs of a newcomer run beside three thousand of another', async () => {
    const { connection } = harness;
    for (let page = 0; page < 30; page += 1)
      await connection.push(
        'default',
        Array.from({ length: 100 }, (_, at) => laned(`a-${page}-${at}`, 'a')),
      );
    await worked(50);
    await connection.push(
      'default',
      Array.from({ length: 10 }, (_, at) => laned(`b-${at}`, 'b')),
    );

    const { order, most } = await worked(60);

    expect(order.indexOf('b')).toBeLessThanOrEqual(3);
    expect(order.lastIndexOf('b')).toBeLessThan(30);
    expect(most.get('a')).toBe(3);
  });

  it('a hundred lanes that come at once each have a job handed out before any has four', async () => {
    const { connection } = harness;
    const jobs = Array.from({ length: 5 }, (_, round) =>
      Array.from({ length: 100 }, (__, lane) => laned(`${lane}-${round}`, `lane-${lane}`)),
    ).flat();
    for (let at = 0; at < jobs.length; at += 500) await connection.push('default', jobs.slice(at, at + 500));

    const { order } = await worked(500);

    expect(order).toHaveLength(500);
    const fourth = order.findIndex((lane, at) => order.slice(0, at).filter((one) => one === lane).length === 3);
    expect(new Set(order.slice(0, fourth)).size).toBe(100);
  });
});

it.each(Object.keys(STORES))('lanes on %s let in what they may, and hold no more', async (store) => {
  await fc.assert(
    fc.asyncProperty(steps, async (sequence) => {
      const harness = await STORES[store]!();
      const model = new LaneModel(harness);
      for (const step of sequence) await model.take(step);
      await harness.dispose();
    }),
    { numRuns: soakSize(10) },
  );
});

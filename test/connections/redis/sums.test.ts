/** Sums, which processes add to: a page of figures reads thousands of them. */
import type { RedisConnection } from '../../../src/connections/redis/connection';
import { RedisWorld } from './open-redis';

let world: RedisWorld;
let connection: RedisConnection;

beforeAll(async () => {
  world = await RedisWorld.start();
});

beforeEach(() => {
  world.fresh();
  connection = world.connect();
});

afterEach(() => world.closeConnections());

afterAll(() => world.stop());

async function scriptCalls(): Promise<number> {
  const stats = await world.client.info('commandstats');
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

it('a thousand sums are read in ten calls, those that are missing too', async () => {
  const { records } = connection;
  const name = (at: number): string => `m${at}`;
  await records.add([{ name: name(7), amounts: { c: 3, '"': 1 }, keep: 600 }], 'one', 1);
  await records.add([{ name: name(999), amounts: { c: 2 ** 52 }, keep: 600 }], 'one', 2);
  await records.sums([name(7)]);
  const before = await scriptCalls();

  const sums = await records.sums(Array.from({ length: 1000 }, (_, at) => name(at)));

  expect((await scriptCalls()) - before).toBe(10);
  expect(sums).toHaveLength(1000);
  expect(sums.filter((sum) => Object.keys(sum).length > 0)).toEqual([{ c: 3, '"': 1 }, { c: 2 ** 52 }]);
  expect([sums[7]?.['c'], sums[999]?.['c']]).toEqual([3, 2 ** 52]);
});

it('sums with long names are read in calls of a MiB each', async () => {
  const { records } = connection;
  const amounts = Object.fromEntries(Array.from({ length: 1500 }, (_, at) => [`${at}`.padEnd(400, 'x'), at]));
  const names = ['m1', 'm2', 'm3', 'm4'];
  for (const [place, name] of names.entries()) await records.add([{ name, amounts, keep: 600 }], 'one', place + 1);
  const before = await scriptCalls();

  expect(await records.sums([...names, 'none'])).toEqual([amounts, amounts, amounts, amounts, {}]);
  expect((await scriptCalls()) - before).toBe(4);
});

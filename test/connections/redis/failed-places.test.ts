import * as fc from '../../support/properties';
import { soakSize } from '../../support/soak-size';
import { RedisWorld } from './open-redis';
import type { FailedSearch } from '../../../src/connections/failed-store';

let world: RedisWorld;

beforeAll(async () => {
  world = await RedisWorld.start();
});
beforeEach(() => world.fresh());
afterAll(async () => {
  await world.closeConnections();
  await world.stop();
});

it('any page of the failed jobs of several queues is the same part of the whole list', async () => {
  const { failed } = world.connect();
  const sizes = { mail: 420, media: 130, reports: 60, empty: 0 };
  expect(await failed.list({ limit: 10, offset: 5000 })).toEqual([]);
  for (const [queue, size] of Object.entries(sizes)) {
    const put = async (at: number): Promise<void> => {
      const id = `${queue}-${at}`;
      const payload = Buffer.from(`{"job":"probe","data":{},"id":"${id}","attempts":1}`);
      await failed.put({ id, payload, name: 'probe', exception: 'no', connection: 'redis', queue, attempts: 1 });
    };
    // Ten at the same time, and the tens one after another.
    for (let at = 0; at < size; at += 10) await Promise.all(Array.from({ length: 10 }, (_, more) => put(at + more)));
  }
  // Many failed at the same time, and only their ids distinguish them.
  const { client, prefix } = world;
  const [key] = (await client.keys(`${prefix}*mail*:failed`)) as [string];
  const ids = await client.zrange(key, '100', '350');
  await client.zadd(key, ...ids.flatMap((id) => ['1700000000', id]));
  const idsAt = async (offset: number, limit: number): Promise<readonly string[]> =>
    (await failed.list({ offset, limit })).map(({ id }) => id);
  const all = await idsAt(0, 1000);
  expect(all).toHaveLength(610);

  await fc.assert(
    fc.asyncProperty(fc.nat(700), fc.integer({ min: 1, max: 120 }), async (offset, limit) => {
      expect(await idsAt(offset, limit)).toEqual(all.slice(offset, offset + limit));
    }),
    { numRuns: soakSize(20) },
  );

  // Pruning with `keep` must count across all queues without reading them whole.
  await client.config('SET', 'slowlog-log-slower-than', '0');
  await client.slowlog('RESET');
  expect(await failed.prune({ keep: 333 })).toBe(610 - 333);
  const slow = (await client.slowlog('GET', 1000)) as readonly [number, number, number, readonly string[]][];
  const looks = slow.map(([, , , words]) => words).filter(([name]) => name === 'zrevrange');
  expect(looks.length).toBeGreaterThan(0);
  expect(Math.max(...looks.map(([, , from, to]) => Number(to) - Number(from)))).toBeLessThan(100);
  expect(await idsAt(0, 1000)).toEqual(all.slice(0, 333));
});

it('a search moves only the jobs that may match, and passes over none', async () => {
  const { failed } = world.connect();
  const exceptions = [`Error: said "no" to täglich`, `Error: refused ECONNREFUSED`];
  const put = async (at: number): Promise<void> => {
    const queue = at % 2 === 0 ? 'mail' : 'media';
    const text = JSON.stringify({ id: `job-${at}`, big: 'x'.repeat(20_000), batch: `batch-${at % 50}` });
    const [name, connection] = [at % 100 === 7 ? 'Rare' : 'Usual', at % 100 === 9 ? 'other' : 'redis'];
    const exception = `${exceptions[at % 100 === 3 ? 0 : 1]}\n    at line ${at}`;
    await failed.put({ id: `job-${at}`, payload: Buffer.from(text), name, exception, connection, queue, attempts: 1 });
  };
  await Promise.all(Array.from({ length: 400 }, (_, at) => put(at)));
  const moved = async (search: FailedSearch): Promise<readonly [number, number]> => {
    const before = await sent();
    const { length } = await failed.list({ limit: 100, search });
    return [length, (await sent()) - before];
  };
  const sent = async (): Promise<number> =>
    Number(/total_net_output_bytes:(\d+)/.exec(await world.client.info('stats'))![1]);

  for (const [search, count] of [
    [{ name: 'Rare' }, 4],
    [{ connection: 'other' }, 4],
    [{ error: 'said "no" to täglich' }, 4],
    [{ batch: 'batch-7' }, 8],
    [{ error: 'nothing has this' }, 0],
    [{ name: 'Rare', error: 'said' }, 0],
    [{ until: 0 }, 0],
  ] as const) {
    const [length, bytes] = await moved(search);
    expect(length).toBe(count);
    expect(bytes).toBeLessThan(count * 25_000 + 100_000);
  }
  // These may say so in a way that cannot be looked for.
  expect((await moved({ connection: 'redis' }))[0]).toBe(100);
  expect((await moved({ error: '"' }))[0]).toBe(100);
  // No page ends between two that match.
  const found: string[] = [];
  for (let after: string | undefined; ;) {
    const page = await failed.list({ limit: 3, after, search: { batch: 'batch-7' } });
    found.push(...page.map(({ id }) => id));
    after = page.at(-1)?.place;
    if (after === undefined) break;
  }
  expect(found.toSorted()).toEqual(Array.from({ length: 8 }, (_, at) => `job-${7 + 50 * at}`).toSorted());
});

import { Keys } from '../../../src/connections/redis/keys';
import { NOT_AN_OBJECT } from '../../../src/payload/counters';
import { RedisWorld } from './open-redis';
import { reserveFrom } from '../../support/exchange';

let world: RedisWorld;

beforeAll(async () => {
  world = await RedisWorld.start();
});

beforeEach(() => world.fresh());

afterAll(() => world.stop());

const nested = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const neighbour = '{"job":"probe","data":{},"id":"neighbour","attempts":0}';

describe('a payload that Redis itself has to parse', () => {
  it.each([
    ['1,000 levels including the object itself', `{"job":"probe","data":${nested(999)},"x":1}`],
    ['a whole surrogate pair', '{"job":"probe","data":"\\ud83d\\ude00","x":1}'],
  ])('is handed out with %s', async (_, text) => {
    const connection = world.connect();
    await connection.push('default', [{ payload: text }]);

    const { reservations, setAside } = await reserveFrom(connection, { queues: ['default'], limit: 10, lease: 60 });

    expect(setAside).toEqual([]);
    expect(reservations.map(({ payload }) => payload.toString())).toEqual([expect.stringContaining(text.slice(0, -1))]);
  });

  it.each([
    ['1,001 levels', `{"job":"probe","data":${nested(1000)},"x":1}`],
    ['a hundred thousand', `{"job":"probe","data":${nested(100_000)}}`],
    ['half of a surrogate pair', '{"job":"probe","data":"\\ud800","x":1}'],
  ])('with %s is set aside with its bytes, and its neighbour runs', async (_, text) => {
    const connection = world.connect();
    await connection.push('default', [{ payload: text }, { payload: neighbour }]);

    const { reservations, setAside } = await reserveFrom(connection, { queues: ['default'], limit: 10, lease: 60 });

    expect(reservations).toHaveLength(1);
    expect(setAside).toMatchObject([{ reason: NOT_AN_OBJECT }]);
    expect((await connection.failed.find(setAside[0]!.id))[0]?.payload.toString()).toBe(text);
  });

  it('is not parsed if it ends like our payloads, and the worker then reports what is wrong with it', async () => {
    const connection = world.connect();
    const text = `{"job":"probe","data":${nested(100_000)},"id":"deep","attempts":0}`;
    await connection.push('default', [{ payload: text }]);

    const { reservations } = await reserveFrom(connection, { queues: ['default'], limit: 10, lease: 60 });

    expect(reservations.map(({ counters }) => counters.attempts)).toEqual([1]);
  });
});

describe('a foreign entry among the failed jobs', () => {
  const entries: readonly string[] = [
    'no line, and no JSON',
    '',
    '\n',
    `null\n${neighbour}`,
    `{"name":7,"exception":{}}\n${neighbour}`,
    `{"name":"cut\n${neighbour}`,
    `[]\n\0`,
  ];

  async function writeAll() {
    const connection = world.connect();
    const { failed, failedJobs } = new Keys(world.prefix, false).queue('default');
    for (const [at, entry] of entries.entries()) {
      await world.client.hset(failedJobs, `odd-${at}`, entry);
      await world.client.zadd(failed, 1e9 + at, `odd-${at}`);
    }
    const kept = {
      id: 'good',
      name: 'Probe',
      exception: 'Error: no',
      connection: 'main',
      attempts: 1,
      queue: 'default',
    };
    await connection.failed.put({ ...kept, payload: Buffer.from(neighbour) });
    return connection.failed;
  }

  it('does not hide other entries, and is listed with its bytes', async () => {
    const store = await writeAll();

    const listed = await store.list({ limit: 100 });

    expect(listed.map(({ id }) => id)).toEqual(['good', ...entries.map((_, at) => `odd-${at}`).toReversed()]);
    expect(listed[0]).toMatchObject({ name: 'Probe', exception: 'Error: no' });
    expect(new Set(listed.slice(1).map(({ name }) => name))).toEqual(new Set(['(unreadable)']));
    expect(listed.at(-1)?.payload.toString()).toBe(entries[0]);
  });

  it('can be retried and forgotten like any other', async () => {
    const store = await writeAll();

    const listed = await store.list({ limit: 100 });
    for (const entry of listed.slice(0, 4)) expect(await store.retry(entry, entry.payload)).toBe(true);
    for (const entry of listed.slice(4)) expect(await store.forget(entry)).toBe(true);
    expect(await store.count()).toBe(0);
  });
});

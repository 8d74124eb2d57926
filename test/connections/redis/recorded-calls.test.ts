import type { RedisCaller } from '../../../src/connections/redis/caller';
import { Keys } from '../../../src/connections/redis/keys';
import { RecordedCalls } from '../../../src/connections/redis/lane';
import { TestClock } from '../../../src/testing/test-clock';
import { freePort } from '../../support/redis-server';
import { RedisWorld } from './open-redis';

let world: RedisWorld;

beforeAll(async () => {
  world = await RedisWorld.start();
});
beforeEach(() => world.fresh());
afterEach(() => world.closeConnections());
afterAll(() => world.stop());

const IDS = Array.from({ length: 50 }, (_, at) => `job-${at}`);

const records = (): Promise<string[]> => world.client.keys(`${world.prefix}*:client:*`);

it('calls of one connection leave one record per queue, however many jobs are retried or cancelled', async () => {
  const connection = world.connect();
  for (const id of IDS) {
    const payload = Buffer.from(`{"job":"probe","data":{},"id":"${id}","attempts":1}`);
    const why = { name: 'probe', exception: 'no', connection: connection.name, queue: 'q', attempts: 1 };
    await connection.failed.put({ ...why, id, payload });
  }
  const entries = await connection.failed.list({ limit: 100 });
  for (const entry of entries) expect(await connection.failed.retry(entry, entry.payload)).toBe(true);
  expect(await records()).toHaveLength(1);

  for (const id of IDS) expect(await connection.control.cancel(id, 'q')).toBe('removed');
  expect(await records()).toHaveLength(1);
  expect(await connection.queues.counts('q')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
});

it('simultaneous calls are carried out one after another, each with its own answer', async () => {
  const connection = world.connect();
  const asked = ['a', 'b', 'a', 'b'].map((queue) => connection.control.pause(queue));

  expect(await Promise.all(asked)).toEqual([true, true, false, false]);
});

it('simultaneous calls fail together at their deadline when Redis is away', async () => {
  const away = { url: `redis://127.0.0.1:${await freePort()}/0` };
  const [connection, other] = [world.connect(away), world.connect(away)];
  let unanswered = IDS.length;
  for (const id of IDS) connection.control.cancel(id, 'q').catch(() => (unanswered -= 1));

  // These take several deadlines. If the fifty waited for one another, they would take many more.
  for (const id of IDS.slice(0, 6)) {
    await expect(world.clock.passing(other.control.cancel(id, 'q'))).rejects.toThrow('was not cancelled');
  }
  expect(unanswered).toBe(0);
});

it('an unanswered call holds up only calls of its own queue', async () => {
  const asked: string[] = [];
  const script = async (_: unknown, [, key]: readonly string[]) => {
    asked.push(key!);
    return key!.includes('silent') ? new Promise(() => {}) : ['cleared'];
  };
  const caller = { settings: { clock: new TestClock(), deadline: 60 }, script } as unknown as RedisCaller;
  const calls = new RecordedCalls(caller, new Keys('queues:', true));
  const clear = (queue: string) => calls.ask('clear', queue, ['ready'], [], 'it was not cleared');
  for (const queue of ['silent', 'silent']) void clear(queue);

  await expect(clear('other')).resolves.toEqual(['cleared']);
  expect(asked).toEqual(['queues:{silent}', 'queues:{other}']);
});

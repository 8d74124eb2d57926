import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ConnectionConfig } from '../../../src/connections/driver';
import { startRedisServer, type RedisServer } from '../../support/redis-server';
import { addManyJobs } from './many-jobs';
import { openWorld, QUEUES } from './world';

let redis: RedisServer;
let folder: string;

beforeAll(async () => {
  redis = await startRedisServer();
  folder = mkdtempSync(join(tmpdir(), 'onqueue-world-'));
});

afterAll(async () => {
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

const stores: [string, () => ConnectionConfig | undefined][] = [
  ['memory', () => undefined],
  ['Redis', () => ({ driver: 'redis', url: redis.url })],
  ['SQLite', () => ({ driver: 'database', url: `sqlite:${join(folder, 'jobs.sqlite')}` })],
];

it.each(stores)('the world for page tests is on %s what its types promise', async (_, store) => {
  await using world = await openWorld(store());
  const { manager, ids, batches } = world;
  const connection = manager.connection();

  const found = await Promise.all(Object.entries(ids).map(async ([name, id]) => [name, await connection.find(id)]));
  expect(Object.fromEntries(found)).toMatchObject({
    ready: { state: 'ready', queue: 'mail' },
    delayed: { state: 'delayed', queue: 'mail' },
    running: { state: 'running', progress: { value: 0.35 } },
    abandoned: { state: 'running', queue: 'sync' },
    secret: { state: 'ready' },
    chained: { state: 'ready', queue: 'imports' },
    refused: { state: 'failed', history: [{}, {}, { source: { lines: expect.anything() } }] },
    withCause: { state: 'failed', history: [{}, { stack: expect.stringContaining('Caused by') }] },
    markup: { state: 'failed', queue: QUEUES.strange },
    completed: { state: 'completed' },
    ...(store() === undefined && {
      timedOut: { history: [{ outcome: 'timed-out' }] },
      crashed: { history: [{ outcome: 'crashed' }, { outcome: 'failed' }] },
    }),
  });
  const counts = async (id: string) => {
    const { pending, completed, failed, skipped } = (await manager.batches.get(id))!;
    return { pending, completed, failed, skipped };
  };
  expect(await counts(batches.finished)).toEqual({ pending: 0, completed: 12, failed: 0, skipped: 0 });
  expect(await counts(batches.withFailures)).toEqual({ pending: 0, completed: 7, failed: 3, skipped: 0 });
  expect(await counts(batches.cancelled)).toEqual({ pending: 0, completed: 3, failed: 0, skipped: 5 });
  expect(await counts(batches.running)).toEqual({ pending: 12, completed: 8, failed: 0, skipped: 0 });
  const { queues, workers } = await connection.snapshot();
  expect(queues.map(({ queue }) => queue)).toEqual(expect.arrayContaining(Object.values(QUEUES)));
  expect(workers!.map(({ busy }) => busy).toSorted()).toEqual([1, 3]);
  expect(await connection.result(ids.completed)).toEqual(expect.any(Map));

  await addManyJobs(manager, 'bulk', { waiting: 1000, failed: 500 });
  expect(await manager.driver().queues.counts('bulk')).toMatchObject({ ready: 1000, reserved: 0 });
  expect(await manager.failed.count({ queue: 'bulk' })).toBe(500);
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JobBus } from '../../src/dispatch/bus';
import { builtInConnectors, type ConnectionConfig, Job, QueueManager, silentLogger, Worker } from '../../src/index';
import { soakSize } from '../support/soak-size';
import { type RedisServer, startRedisServer } from '../support/redis-server';

let runs: Uint8Array;

@Job()
class Count extends Job {
  constructor(readonly index: number) {
    super();
  }
  handle(): void {
    runs[this.index]! += 1;
  }
}

let redis: RedisServer;
let folder: string;

beforeAll(async () => {
  redis = await startRedisServer();
  folder = mkdtempSync(join(tmpdir(), 'onqueue-many-'));
});

afterAll(async () => {
  await redis.stop();
  rmSync(folder, { recursive: true, force: true });
});

const stores: [string, number, () => ConnectionConfig][] = [
  ['redis', soakSize(6000), () => ({ driver: 'redis', url: redis.url })],
  ['SQLite', soakSize(2000), () => ({ driver: 'database', url: `sqlite:${join(folder, 'jobs.sqlite')}` })],
];

it.each(stores)(
  'on %s, %i jobs go through dispatch, worker and hooks, each exactly once',
  async (_name, count, config) => {
    runs = new Uint8Array(count);
    let heard = 0;
    const manager = new QueueManager(
      { connectors: builtInConnectors, logger: silentLogger },
      { connections: { store: config() } },
    );
    manager.hooks.on('before', () => (heard += 1));
    manager.hooks.on('after', () => (heard += 1));

    await new JobBus(() => manager).bulk(Array.from({ length: count }, (_, index) => new Count(index)));
    await new Worker({ concurrency: 50, stopWhenEmpty: true }, manager).run();

    expect(runs.every((times) => times === 1)).toBe(true);
    expect(heard).toBe(2 * count);
    expect(await manager.connection().size()).toBe(0);
    await manager.close();
  },
);

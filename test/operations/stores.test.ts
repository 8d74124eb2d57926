/** Lookups, lists and snapshots on real stores: the same on each. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtInConnectors } from '../../src/connections/built-in';
import type { ConnectionConfig } from '../../src/connections/driver';
import { QueueManager } from '../../src/application/queue-manager';
import { Job } from '../../src/job/job';
import type { ListedJob } from '../../src/operations/listed-job';
import { Worker } from '../../src/worker/worker';
import { Gate, RecordingLogger } from '../support/application';
import { eventually } from '../support/eventually';
import { startMariadbServer } from '../support/mariadb-server';
import { startPostgresServer } from '../support/postgres-server';
import { startRedisServer } from '../support/redis-server';

let gate = new Gate();

@Job({ tries: 1 })
class Film extends Job {
  constructor(readonly title: string) {
    super();
  }

  async handle(): Promise<void> {
    await gate.opened;
    if (this.title === 'broken') throw new Error('no film');
  }
}

interface Store {
  readonly config: ConnectionConfig;
  readonly stop: () => Promise<void> | void;
}

const server = async (
  started: Promise<{ readonly url: string; stop(): Promise<void> }>,
  driver: 'redis' | 'database',
) => {
  const { url, stop } = await started;
  return { config: { driver, url } as ConnectionConfig, stop };
};

const STORES: readonly (readonly [name: string, start: () => Promise<Store>])[] = [
  ['Redis', () => server(startRedisServer(), 'redis')],
  [
    'SQLite',
    async () => {
      const folder = mkdtempSync(join(tmpdir(), 'onqueue-seen-'));
      const config = { driver: 'database' as const, url: `sqlite:${join(folder, 'jobs.sqlite')}` };
      return { config, stop: () => rmSync(folder, { recursive: true }) };
    },
  ],
  ['PostgreSQL', () => server(startPostgresServer(), 'database')],
  ['MariaDB', () => server(startMariadbServer(), 'database')],
];

describe.each(STORES)('on %s', (_, start) => {
  let store: Store;
  let manager: QueueManager;

  beforeAll(async () => {
    store = await start();
    manager = new QueueManager(
      { connectors: builtInConnectors, logger: new RecordingLogger() },
      { connections: { main: store.config }, default: 'main' },
    );
    await manager.driver().migrations?.run?.();
  });
  afterAll(async () => {
    gate.open();
    await manager?.close();
    await store?.stop();
  });

  it('a job can be found from its dispatch to its end, and is listed with the worker that runs it', async () => {
    gate = new Gate();
    const queue = manager.connection();
    const broken = await queue.push(new Film('broken'), 'films');
    const ids = await queue.bulk(
      Array.from({ length: 30 }, (_, place) => new Film(`film ${place}`)),
      'films',
    );
    const later = await queue.later('1h', new Film('later'), 'films');
    expect(await queue.find(broken)).toMatchObject({ state: 'ready', queue: 'films', attempts: 0, tries: 1 });
    expect(await queue.find(later, { queue: 'films' })).toMatchObject({ state: 'delayed' });

    const worker = new Worker({ queue: 'films', concurrency: 1 }, manager);
    const working = worker.run();
    const [seen] = (await eventually(
      async () => {
        const found = await queue.workers();
        return found[0]?.busy === 1 ? found : undefined;
      },
      { of: 'the record of the worker' },
    ))!;
    expect(seen).toMatchObject({
      queues: ['films'],
      running: [{ id: broken, name: 'Film', queue: 'films', attempt: 1 }],
    });
    expect(await queue.find(broken)).toMatchObject({ state: 'running', attempts: 1, at: expect.any(Date) as Date });

    const listed: ListedJob[] = [];
    for (let after: string | undefined; ;) {
      const page = await queue.jobs('films', { after, limit: 7 });
      listed.push(...page.jobs);
      if ((after = page.next) === undefined) break;
    }
    expect(listed.map(({ id }) => id)).toEqual(ids);
    for (const state of ['running', 'delayed'] as const)
      expect((await queue.jobs('films', { state })).jobs.map(({ id }) => id)).toEqual([
        state === 'running' ? broken : later,
      ]);

    const { queues, workers } = await queue.snapshot();
    expect(workers).toHaveLength(1);
    expect(queues.find((one) => one.queue === 'films')).toMatchObject({ ready: 30, delayed: 1, running: 1, failed: 0 });
    expect(queues.find((one) => one.queue === 'films')!.oldestWait).toBeGreaterThanOrEqual(0);

    gate.open();
    await eventually(async () => ((await queue.size('films')) === 1 ? true : undefined), { of: 'the end of the jobs' });
    await worker.stop();
    await working;
    expect(await queue.workers()).toEqual([]);
    expect(await queue.find(broken)).toMatchObject({ state: 'failed', error: 'Error: no film', attempts: 1 });
    expect(await queue.find(ids[0]!)).toMatchObject({ state: 'completed', name: 'Film', queue: 'films', attempts: 1 });
    const ended = await queue.jobs('films', { state: 'completed', limit: 20 });
    expect(new Set(ended.jobs.map(({ id }) => id))).toEqual(new Set(ids.slice(10)));
    expect((await queue.jobs('films', { state: 'failed' })).jobs.map(({ id }) => id)).toEqual([broken]);
  });

  it('a job that was cancelled while it waited, was delayed, or would run again keeps its name and its queue', async () => {
    const queue = manager.connection();
    const ready = await queue.push(new Film('ready'), 'cut');
    const later = await queue.later('1h', new Film('later'), 'cut');
    const again = await queue.push(new Film('again'), 'again');
    const { reservations } = (await manager.driver().exchange([], { queues: ['again'], limit: 1, lease: 60 })).reply;
    const [reservation] = reservations;
    await manager
      .driver()
      .exchange([{ outcome: 'released', reservation: reservation!, counters: reservation!.counters, delay: 60 }]);

    for (const id of [ready, later, again]) expect(await queue.cancel(id, { reason: 'not shown' })).toBe('removed');

    const cancelled = (attempt: number, name: string): object => ({
      state: 'unknown',
      name: 'Film',
      queue: name,
      history: [{ outcome: 'cancelled', attempt, fence: attempt, error: 'not shown', at: expect.any(Date) as Date }],
    });
    expect(await queue.find(ready)).toMatchObject(cancelled(1, 'cut'));
    expect(await queue.find(later)).toMatchObject(cancelled(1, 'cut'));
    expect(await queue.find(again)).toMatchObject(cancelled(2, 'again'));
    await expect(queue.result(ready)).rejects.toThrow('Film');
    expect(await queue.cancel(ready)).toBe('unknown');
  });

  it('another process that asks again and again never hears that a job is unknown: it waits, runs, has completed', async () => {
    gate = new Gate();
    gate.open();
    const asking = new QueueManager(
      { connectors: builtInConnectors, logger: new RecordingLogger() },
      { connections: { main: store.config }, default: 'main' },
    );
    const worker = new Worker({ queue: 'asked', concurrency: 2 }, manager);
    const working = worker.run();
    const seen = new Set<string>();
    for (let round = 0; round < 10; round += 1) {
      const id = await manager.connection().push(new Film('short'), 'asked');
      for (let state = ''; state !== 'completed'; seen.add(state)) ({ state } = await asking.connection().find(id));
    }
    await worker.stop();
    await working;
    await asking.close();

    expect([...seen]).not.toContain('unknown');
  });
});

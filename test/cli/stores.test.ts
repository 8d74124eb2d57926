/** Commands that control workers of other processes through shared stores. */
import { builtInConnectors } from '../../src/connections/built-in';
import { Job } from '../../src/job/job';
import { silentLogger } from '../../src/base/logger';
import type { ConnectionConfig } from '../../src/connections/driver';
import { QueueManager } from '../../src/application/queue-manager';
import { Worker } from '../../src/worker/worker';
import { eventually } from '../support/eventually';
import { startRedisServer, type RedisServer } from '../support/redis-server';
import { CommandKit, itemsIn } from './kit/command-kit';
import { reserveFrom } from '../support/exchange';

@Job({ queue: 'mail' })
class Export extends Job {
  async handle(): Promise<void> {}
}

let server: RedisServer;

beforeAll(async () => {
  server = await startRedisServer();
});

afterAll(() => server.stop());

describe.each([
  ['redis', (): ConnectionConfig => ({ driver: 'redis', url: server.url })],
  ['database', (): ConnectionConfig => ({ driver: 'database', url: 'sqlite:./queue.sqlite' })],
])('through %s', (_driver, config) => {
  let kit: CommandKit;
  /** The application whose workers are controlled. */
  let manager: QueueManager;

  beforeEach(() => {
    const configuration = { connections: { main: config() } };
    kit = new CommandKit({ 'onqueue.config.js': `module.exports = ${JSON.stringify(configuration)};` });
    kit.connectors = builtInConnectors;
    const { folder } = kit.project;
    manager = new QueueManager({ connectors: builtInConnectors, logger: silentLogger, folder }, configuration);
  });

  afterEach(async () => {
    await manager.connection().clear('mail');
    await manager.close();
    await kit.close();
  });

  const reserve = () => reserveFrom(manager.driver(), { queues: ['mail'], limit: 1, lease: 30 });

  it('cancel removes waiting jobs, stops running ones, and does not know removed ones', async () => {
    const queue = manager.connection();
    const running = await queue.push(new Export());
    const { reservations } = await reserve();
    const ready = await queue.push(new Export());
    const delayed = await queue.later('1h', new Export());

    const { stdout, code } = await kit.run('cancel', running, ready, delayed, ready, '--json');

    expect(itemsIn(stdout)).toEqual([
      { id: running, result: 'signalled' },
      { id: ready, result: 'removed' },
      { id: delayed, result: 'removed' },
    ]);
    expect(code).toBe(0);
    expect(await manager.driver().renew!(reservations, 30)).toEqual(['cancelled']);
    expect(await kit.run('cancel', ready)).toMatchObject({ code: 1, stdout: '' });
  });

  it('pause keeps jobs from workers until resume, and size shows it', async () => {
    await manager.connection().push(new Export());

    expect((await kit.run('pause', 'main:mail')).stdout).toBe('Paused mail.\n');

    expect((await reserve()).reservations).toEqual([]);
    expect((await kit.run('size')).stdout).toMatch(/^mail +1 +0 +0 +0 +yes$/m);
    expect((await kit.run('continue', 'main:mail', '--json')).stdout).toBe(
      '{"items":[{"connection":"main","queue":"mail","paused":false,"changed":true}]}\n',
    );
    expect((await reserve()).reservations).toHaveLength(1);
  });

  it('restart ends the workers that run, but not those that start later', async () => {
    const worker = new Worker({ queue: 'mail' }, manager);
    const reason = worker.run();
    await eventually(() => worker.health().ready);

    expect((await kit.run('restart')).stdout).toContain('Told the workers of main');

    // This wakes the worker, which leaves the job to the next one.
    await manager.connection().push(new Export());
    expect(await reason).toBe('restart');
    expect(await manager.connection().size('mail')).toBe(1);
    expect(await new Worker({ queue: 'mail', stopWhenEmpty: true }, manager).run()).toBe('empty');
  });
});

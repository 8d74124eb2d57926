/** Stored schedules on stores that processes share: several keep them, and each occurrence is sent once. */
import '../../src/composition';
import { join } from 'node:path';
import { QueueManager } from '../../src/application/queue-manager';
import { systemClock } from '../../src/base/clock';
import { builtInConnectors } from '../../src/connections/built-in';
import type { ConnectionConfig } from '../../src/connections/driver';
import { RecordingLogger } from '../support/application';
import { eventually } from '../support/eventually';
import { Project } from '../support/project';
import { startRedisServer } from '../support/redis-server';
import { Prune } from './fleet';

const EACH_SECOND = { every: '1s', overlap: 'allow' } as const;

async function expectOnceOn(config: ConnectionConfig): Promise<void> {
  const log = new RecordingLogger();
  const managers = [1, 2, 3].map(
    () =>
      new QueueManager(
        { connectors: builtInConnectors, clock: systemClock, logger: log },
        { connections: { main: config } },
      ),
  );
  const [web, ...workers] = managers as [QueueManager, ...QueueManager[]];
  const sent = async (): Promise<readonly number[]> => {
    const pages = await Promise.all(
      (['ready', 'delayed'] as const).map((state) => web.driver().queues.peek!('default', state, 1000)),
    );
    return pages
      .flat()
      .map(({ payload }) => (JSON.parse(payload.toString()) as { occurrence: { at: number } }).occurrence.at);
  };
  try {
    await web.schedules.put('report', EACH_SECOND, new Prune('1d'));
    await web.schedules.put('report', EACH_SECOND, new Prune('2d'));
    await web.schedules.put('leap', { cron: '0 0 29 2 *', timezone: 'Europe/Amsterdam' }, new Prune('3d'));
    const ends = workers.map((manager) => {
      manager.driver();
      return manager.schedules.keep();
    });
    const isSent = async (): Promise<boolean> => (await web.schedules.list())[1]?.last !== undefined;
    await eventually(async () => (await sent()).length > 5 && (await isSent()), { of: 'the first occurrences' });
    expect(await web.schedules.list()).toMatchObject([
      { name: 'leap', isKept: true, last: undefined },
      { name: 'report', isKept: true, last: expect.any(Date) as unknown },
    ]);
    expect(await web.schedules.pause('leap')).toBe(true);
    expect([await web.schedules.remove('report'), await web.schedules.remove('report')]).toEqual([true, false]);
    await Promise.all(ends.map((end) => end()));

    const all = await sent();
    expect(new Set(all).size).toBe(all.length);
    expect(await web.schedules.list()).toMatchObject([{ name: 'leap', pausedAt: expect.any(Date) as unknown }]);
    expect(log.messages('error')).toEqual([]);
  } finally {
    await Promise.all(managers.map((manager) => manager.close()));
  }
}

test('on SQLite, each occurrence is sent once, and nothing is left of what was removed', async () => {
  const project = new Project();
  await expectOnceOn({ driver: 'database', url: `sqlite:${join(project.folder, 'jobs.sqlite')}` });
  project.remove();
});

test('on Redis, each occurrence is sent once, and nothing is left of what was removed', async () => {
  const server = await startRedisServer();
  await expectOnceOn({ driver: 'redis', url: server.url });
  await server.stop();
});

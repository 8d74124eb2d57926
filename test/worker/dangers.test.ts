import { builtInConnectors } from '../../src/connections/built-in';
import { QueueManager } from '../../src/application/queue-manager';
import { Worker } from '../../src/worker/worker';
import { RecordingLogger } from '../support/application';
import { eventually } from '../support/eventually';
import { startRedisServer } from '../support/redis-server';

it('starting workers log settings of the store that may lose jobs once, in the words of the diagnosis', async () => {
  const redis = await startRedisServer({ args: ['--maxmemory', '100mb', '--maxmemory-policy', 'allkeys-lru'] });
  const log = new RecordingLogger();
  const manager = new QueueManager(
    { connectors: builtInConnectors, logger: log },
    { connections: { main: { driver: 'redis', url: redis.url } } },
  );
  const workers = [new Worker({}, manager), new Worker({}, manager)];

  const ended = workers.map((worker) => worker.run());
  await eventually(() => log.messages('warn').length > 0 && workers.every((worker) => worker.health().ready));
  const found = await manager.driver().diagnose();
  await Promise.all([...workers.map((worker) => worker.stop()), ...ended]);
  await manager.close();
  await redis.stop();

  const said = (subject: string): string => {
    const { message } = found.find((one) => one.subject === subject)!;
    return `${redis.url} may lose jobs. ${subject}: ${message}`;
  };
  expect(log.messages('error')).toEqual([said('maxmemory-policy')]);
  expect(log.messages('warn')).toEqual([said('persistence')]);
});

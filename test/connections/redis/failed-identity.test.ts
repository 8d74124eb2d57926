import { QueueManager } from '../../../src/application/queue-manager';
import { builtInConnectors } from '../../../src/connections/built-in';
import { silentLogger } from '../../../src/base/logger';
import { startRedisServer, type RedisServer } from '../../support/redis-server';
import { reserveFrom, settleIn } from '../../support/exchange';

const text = '{"job":"probe","data":{},"id":"one","attempts":0}';

let server: RedisServer;
let manager: QueueManager;

beforeAll(async () => {
  server = await startRedisServer();
});

beforeEach(() => {
  const { url } = server;
  manager = new QueueManager(
    { connectors: builtInConnectors, logger: silentLogger },
    { connections: { main: { driver: 'redis', url }, same: { driver: 'redis', url } }, default: 'main' },
  );
});

afterEach(() => manager.close());
afterAll(() => server.stop());

/** Fails a job with the same id in each of these queues. */
async function fail(...queues: readonly string[]): Promise<void> {
  const driver = manager.driver();
  for (const queue of queues) {
    await driver.push(queue, [{ payload: text }]);
    const { reservations } = await reserveFrom(driver, { queues: [queue], limit: 1, lease: 60 });
    const [reservation] = reservations;
    const failure = { id: 'one', name: 'probe', exception: `Error: on ${queue}` };
    const { counters } = reservation!;
    await settleIn(driver, [{ outcome: 'failed', reservation: reservation!, counters, failure }]);
  }
}

const places = async (): Promise<readonly string[]> =>
  (await manager.failed.list()).map(({ id, queue }) => `${id} on ${queue}`).toSorted();

it('failed jobs with the same id in two queues are listed, forgotten and retried separately', async () => {
  await fail('mail', 'reports', 'letters');
  expect(await places()).toEqual(['one on letters', 'one on mail', 'one on reports']);
  await expect(manager.failed.forget('one')).rejects.toMatchObject({ code: 'E_AMBIGUOUS_FAILED_JOB' });
  await expect(manager.failed.retry('one')).rejects.toThrow(/on queue 'letters' of connection 'main', and on queue/);

  expect(await manager.failed.forget('one', { queue: 'mail' })).toBe(true);
  expect(await manager.failed.get('one', { queue: 'reports' })).toMatchObject({ exception: 'Error: on reports' });
  expect(await manager.failed.retry('one', { queue: 'reports' })).toBe(true);

  expect(await places()).toEqual(['one on letters']);
  expect(await manager.driver().queues.counts('reports')).toMatchObject({ ready: 1 });
  expect(await manager.failed.forget('one')).toBe(true);
  expect(await places()).toEqual([]);
});

it('failed jobs with the same id in many queues are all retried', async () => {
  const queues = Array.from({ length: 150 }, (_, index) => `queue-${index}`);
  await fail(...queues);

  expect(await manager.failed.retry('all')).toBe(150);

  expect(await places()).toEqual([]);
});

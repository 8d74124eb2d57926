/** A wait for a result falls back to polling, whatever happens to the connection that should wake it. */
import type { Duration } from '../../../src/job/duration';
import { builtInConnectors } from '../../../src/connections/built-in';
import { silentLogger } from '../../../src/base/logger';
import { QueueManager } from '../../../src/application/queue-manager';
import { eventually } from '../../support/eventually';
import { RedisWorld } from '../../connections/redis/open-redis';
import { FaultyProxy } from '../kit/faulty-proxy';
import { meantToPass } from '../../support/meant-to-pass';
import { reserveFrom, settleIn } from '../../support/exchange';

let world: RedisWorld;
let proxy: FaultyProxy;
let manager: QueueManager;

beforeAll(async () => {
  world = await RedisWorld.start();
});

beforeEach(async () => {
  world.fresh();
  proxy = await FaultyProxy.start(world.server.port);
  manager = new QueueManager(
    { connectors: builtInConnectors, logger: silentLogger },
    { connections: { redis: { driver: 'redis', url: proxy.url, prefix: world.prefix, deadline: meantToPass(1) } } },
  );
});

afterEach(async () => {
  await manager.close();
  await world.closeConnections();
  await proxy.stop();
});

afterAll(() => world.stop());

const ID = '0193a6c1-7b1e-7000-8000-000000000000';

/** Runs in another process, while this one waits to be woken by its end. */
async function wait(
  within: Duration,
): Promise<{ readonly result: Promise<unknown>; readonly end: () => Promise<void> }> {
  const other = world.connect();
  await other.push('default', [{ payload: `{"job":"Elsewhere","data":{},"id":"${ID}","attempts":0}` }]);
  const { reservations } = await reserveFrom(other, { queues: ['default'], limit: 1, lease: 600 });
  const result = manager.connection().result(ID, { within });
  result.catch(() => undefined);
  const subscribed = async () => String(await world.client.call('pubsub', 'numsub', channel())).endsWith(',1');
  await eventually(subscribed, { of: 'a subscription' });
  const end = async (): Promise<void> => {
    const value = JSON.stringify({ kind: 'completed', job: 'Elsewhere', command: 'it', types: {} });
    await other.records.wake.put({ kind: 'results', id: ID, value }, 60);
    await settleIn(other, [{ outcome: 'completed', reservation: reservations[0]! }]);
  };
  return { result, end };
}

const channel = (): string => `${world.prefix}:records:results:${ID}`;

it.each([
  ['are cut', (): void => proxy.cut()],
  ['died unnoticed', (): void => proxy.goHalfOpen()],
  [
    'do not answer for a while',
    (): void => {
      proxy.goSilent();
      setImmediate(() => proxy.heal());
    },
  ],
])('a result written while the connections of the waiting process %s is still seen', async (_, harm) => {
  const { result, end } = await wait('2m');

  harm();
  await end();

  expect(await result).toBe('it');
});

it('a wait ends when its time is over, even while its server is away', async () => {
  const { result } = await wait(meantToPass('1s'));

  await proxy.stop();

  await expect(result).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
  proxy = await FaultyProxy.start(world.server.port);
});

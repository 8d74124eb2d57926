import Redis from 'ioredis';
import { eventually } from '../../support/eventually';
import { type RedisServer, startRedisServer } from '../../support/redis-server';
import { Ends, Workings } from '../sql/refusals';

const workings = new Workings();

let server: RedisServer;
let client: Redis;

beforeAll(async () => {
  server = await startRedisServer();
  client = new Redis(server.url);
});

afterEach(async () => {
  await workings.close();
  await client.flushall();
});

afterAll(async () => {
  client.disconnect();
  await server.stop();
});

const good = Array.from({ length: 20 }, () => new Ends('completes'));

it.each([
  ['queues:default:failed', 'fails', { completed: 40, failed: 0 }, 1],
  ['queues::queues', 'releases', { completed: 40, released: 1 }, 0],
] as const)(
  'a foreign key at %s holds up only the outcomes that would be written there',
  async (key, how, outcomes, left) => {
    const { worker, bus, manager, log } = workings.start({
      connections: { main: { driver: 'redis', url: server.url } },
      default: 'main',
    });
    await eventually(() => worker.health().ready);
    await bus.dispatch(new Ends('completes'));
    await eventually(() => worker.health().outcomes.completed === 1);
    await client.del(key);
    await client.set(key, 'somebody else');

    await bus.bulk([...good, new Ends(how), ...good.slice(1)]);

    await eventually(() => {
      expect(worker.health()).toMatchObject({ ready: true, outcomes });
      return true;
    });
    expect(worker.health().outcomes.lost).toBe(0);
    await eventually(
      async () =>
        (
          await manager
            .driver()
            .queues.counts('default')
            .catch(() => ({ reserved: left }))
        ).reserved === left,
    );
    expect(log.messages('error').length).toBeLessThan(3);
  },
);

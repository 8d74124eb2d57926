import type { RedisConnection } from '../../../src/connections/redis/connection';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { RedisWorld } from './open-redis';

let world: RedisWorld;
let proxy: FaultyProxy;

beforeAll(async () => {
  world = await RedisWorld.start();
});

beforeEach(async () => {
  world.fresh();
  proxy = await FaultyProxy.start(world.server.port);
});

afterEach(async () => {
  await world.closeConnections();
  await proxy.stop();
});

afterAll(() => world.stop());

const record = (id: string) => ({ kind: 'results', id, value: `of ${id}` });

/** A listener that notes at each wake-up whether it is listening. */
function listener(connection: RedisConnection, id: string) {
  const heard: boolean[] = [];
  const listening = connection.records.wake.listen('results', id, () => heard.push(listening.isHeard));
  return { heard, listening };
}

const isHeard = (...own: readonly ReturnType<typeof listener>[]): Promise<boolean> =>
  eventually(() => own.every(({ listening }) => listening.isHeard), { of: 'what is put to be heard of' });

/** The number of subscribed clients. */
const subscribers = async (): Promise<number> =>
  String(await world.client.call('client', 'list', 'type', 'pubsub'))
    .split('\n')
    .filter(Boolean).length;

describe('the channels of records in a redis', () => {
  it('share one connection among all listeners, and need none without listeners', async () => {
    const connection = world.connect();
    await connection.records.wake.put(record('a'), 60);
    expect(await subscribers()).toBe(0);

    await isHeard(...['a', 'b', 'c', 'c'].map((id) => listener(connection, id)));

    expect(await subscribers()).toBe(1);
    await connection.close();
    await eventually(async () => (await subscribers()) === 0, { of: 'the end of the connection' });
  });

  it('are subscribed again when their connection is lost, and listeners are told of the loss', async () => {
    const connection = world.connect({ url: proxy.url });
    const own = [listener(connection, 'a'), listener(connection, 'b')];
    await isHeard(...own);

    proxy.cut();
    await eventually(() => own.every(({ heard }) => heard.length === 2), { of: 'a word of the loss' });
    expect(own.map(({ heard }) => heard)).toEqual([
      [true, false],
      [true, false],
    ]);
    await isHeard(...own);
    await world.connect().records.wake.put(record('b'), 60);

    await eventually(() => own[1]!.heard.length === 4, { of: 'a wake-up by a record' });
    expect(own.map(({ heard }) => heard.slice(2))).toEqual([[true], [true, true]]);
  });

  it('are subscribed on a new connection when the old one does not answer a further subscription', async () => {
    const connection = world.connect({ url: proxy.url });
    const first = listener(connection, 'a');
    await isHeard(first);
    proxy.goHalfOpen();

    const { requests } = proxy;
    const second = listener(connection, 'b');
    await eventually(() => proxy.requests > requests, { of: 'the unanswered subscription' });
    world.clock.advance(60);

    await isHeard(second);
    await eventually(() => first.listening.isHeard);
    expect(first.heard).toEqual([true, false, true]);
  });

  it('that a user may not subscribe to wake nobody, which is logged once, and records are still written', async () => {
    await world.client.acl('SETUSER', 'deaf', 'reset', 'on', '>secret', '~*', '+@all', 'resetchannels');
    const log = new RecordingLogger();
    const user = { url: undefined, port: world.server.port, username: 'deaf', password: 'secret' };
    const connection = world.connect(user, { logger: log });
    const own = [listener(connection, 'a'), listener(connection, 'b')];
    await eventually(() => log.messages('warn').length > 0, { of: 'a word about it' });

    await connection.records.wake.put(record('a'), 60);
    // Comes after the earlier subscriptions on the same connection.
    await listenedAgain(connection);

    expect(await connection.records.get('results', 'a')).toBe('of a');
    expect(own.map(({ heard, listening }) => [heard, listening.isHeard])).toEqual([
      [[], false],
      [[], false],
    ]);
    expect(log.messages('warn')).toEqual([
      expect.stringMatching(/does not let us wait for results.*channel.*ACL SETUSER/),
    ]);
    expect(await connection.diagnose()).toContainEqual({
      level: 'warning',
      subject: 'channels',
      message: expect.stringContaining(`ACL SETUSER <user> &${world.prefix}* +publish +subscribe +unsubscribe`),
    });
  });

  it('work in a cluster even before any other call', async () => {
    const cluster = await RedisWorld.startCluster();
    cluster.fresh();
    const node = `redis://127.0.0.1:${cluster.server.port}`;
    const [one, other] = [0, 1].map(() => cluster.connect({ url: undefined, cluster: [node] })) as [
      RedisConnection,
      RedisConnection,
    ];
    const own = listener(one, 'a');
    await isHeard(own);

    await other.records.wake.put(record('a'), 60);

    await eventually(() => own.heard.length === 2, { of: 'a wake-up by a record' });
    await cluster.stop();
  });
});

/** Subscribes once more and waits until the server has refused that too. */
async function listenedAgain(connection: RedisConnection): Promise<void> {
  const refused = async (): Promise<number> =>
    Number(/errorstat_NOPERM:count=(\d+)/.exec(await world.client.info('errorstats'))?.[1] ?? 0);
  const before = await refused();
  listener(connection, 'c');
  await eventually(async () => (await refused()) > before, { of: 'a further refusal' });
}

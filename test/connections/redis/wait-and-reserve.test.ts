import type { ReserveReply } from '../../../src/connections/contract';
import type { RedisConnection } from '../../../src/connections/redis/redis-connection';
import { TestClock } from '../../../src/testing/test-clock';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { eventually } from '../../support/eventually';
import { RedisWorld } from './open-redis';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const request = { queues: ['q'], limit: 1, lease: 600 };
const ids = (reply: ReserveReply | undefined): unknown[] =>
  reply!.reservations.map((one) => (JSON.parse(one.payload.toString()) as { readonly id: string }).id);

describe('a reserve that follows a blocking read', () => {
  let world: RedisWorld;
  let proxy: FaultyProxy;
  let connection: RedisConnection;
  let stop: AbortController;

  beforeAll(async () => {
    world = await RedisWorld.start();
    proxy = await FaultyProxy.start(world.server.port);
  });

  beforeEach(async () => {
    world.fresh();
    stop = new AbortController();
    connection = world.connect({ url: proxy.url });
    // Loads the script and connects.
    await connection.reserve(request);
  });

  afterEach(() => world.closeConnections());

  afterAll(async () => {
    await proxy.stop();
    await world.stop();
  });

  const waits = async (count: number): Promise<void> => {
    await eventually(async () => (await world.client.info('clients')).includes(`blocked_clients:${count}`));
  };
  const push = (id: string): Promise<unknown> => connection.push('q', [{ payload: payload(id) }]);

  it('brings one job as soon as it is pushed, and leaves a hint for the rest', async () => {
    const waiting = connection.waiter(['q']).waitAndReserve!(60, request, stop.signal);
    await waits(1);
    await connection.push('q', [{ payload: payload('a') }, { payload: payload('b') }]);

    const reply = await waiting;
    expect(ids(reply)).toEqual(['a']);
    expect(reply!.nextIn).toBe(0);
    expect(await world.keys()).toMatchObject({ 'q:notify': ['1'] });
  });

  it('brings a job even if Redis has forgotten its scripts meanwhile', async () => {
    const waiting = connection.waiter(['q']).waitAndReserve!(60, request, stop.signal);
    await waits(1);
    await world.client.script('FLUSH');
    await push('a');

    expect(ids(await waiting)).toEqual(['a']);
  });

  it('brings a job that was pushed before it', async () => {
    await push('a');
    expect(ids(await connection.waiter(['q']).waitAndReserve!(60, request, stop.signal))).toEqual(['a']);
  });

  it('ends at once when it is aborted, as does the next one', async () => {
    const waiter = connection.waiter(['q']);
    for (const end of [new AbortController(), new AbortController()]) {
      const waiting = waiter.waitAndReserve!(60, request, end.signal);
      await waits(1);
      end.abort();
      expect((await waiting)!.reservations).toEqual([]);
    }
  });

  it('makes no connection if it is aborted before it began, because the waiter may be closed and nothing would end it', async () => {
    const { connections } = proxy;
    const waiter = connection.waiter(['q']);
    const waiting = waiter.waitAndReserve!(60, request, stop.signal);
    stop.abort();
    await waiter.close();

    expect((await waiting)!.reservations).toEqual([]);
    expect(proxy.connections).toBe(connections);
  });

  it('replaces a pending read', async () => {
    const waiter = connection.waiter(['q']);
    void waiter.wait(60, stop.signal);
    await waits(1);
    stop.abort();
    const waiting = waiter.waitAndReserve!(60, request, new AbortController().signal);
    await push('a');

    expect(ids(await waiting)).toEqual(['a']);
  });

  it('brings the job that it reserved even if the answer is lost, and no other job', async () => {
    const waiting = connection.waiter(['q']).waitAndReserve!(60, request, stop.signal);
    await waits(1);
    proxy.loseReplies();
    await world.client.rpush(`${world.prefix}q`, payload('a'), payload('b'));
    await world.client.rpush(`${world.prefix}q:notify`, '1');

    const reply = await waiting;
    expect(ids(reply)).toEqual(['a']);
    expect(await connection.counts('q')).toEqual({ ready: 1, delayed: 0, reserved: 1 });
  });

  it('is sent on another connection if the connection of the read is silent', async () => {
    const clock = new TestClock();
    connection = world.connect({ url: proxy.url }, { clock });
    const waiter = connection.waiter(['q']);
    const before = new AbortController();
    void waiter.wait(2, before.signal);
    await waits(1);
    before.abort();
    proxy.goSilent();
    let reply: ReserveReply | undefined;
    void waiter.waitAndReserve!(2, request, stop.signal).then((told) => (reply = told));
    const { connections } = proxy;
    await clock.advance('4500ms');
    await eventually(() => proxy.connections > connections);
    proxy.heal();
    await world.client.rpush(`${world.prefix}q`, payload('a'));

    await eventually(async () => {
      await clock.advance('1s');
      return reply !== undefined;
    });
    expect(ids(reply)).toEqual(['a']);
  });

  it('only waits if other workers of the process wait too, because they may block the event loop while its job is reserved', async () => {
    const waiter = connection.waiter(['q']);
    const other = connection.waiter(['q']);
    const waiting = waiter.waitAndReserve!(60, request, stop.signal);
    await waits(1);
    await push('a');
    expect(await waiting).toBeUndefined();

    await other.close();
    expect(ids(await waiter.waitAndReserve!(60, request, stop.signal))).toEqual(['a']);
  });

  it('only waits if Redis refuses the read, because the reserve would be repeated at once again and again', async () => {
    await world.client.set(`${world.prefix}q:notify`, 'of another type');
    const waiter = connection.waiter(['q']);
    await waiter.waitAndReserve!(60, request, stop.signal).catch(() => undefined);

    expect(await waiter.waitAndReserve!(0.05, request, stop.signal)).toBeUndefined();
  });
});

import type { ReserveReply } from '../../../src/connections/contract';
import type { RedisConnection } from '../../../src/connections/redis/connection';
import { systemClock } from '../../../src/base/clock';
import { TestClock } from '../../../src/testing/test-clock';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { eventually } from '../../support/eventually';
import { RedisWorld } from './open-redis';
import { reserveFrom, waitOn } from '../../support/exchange';

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
    await reserveFrom(connection, request);
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
    const waiting = reserveFrom(connection, { ...request, within: 60, signal: stop.signal });
    await waits(1);
    await connection.push('q', [{ payload: payload('a') }, { payload: payload('b') }]);

    const reply = await waiting;
    expect(ids(reply)).toEqual(['a']);
    expect(reply!.nextIn).toBe(0);
    expect(await world.keys()).toMatchObject({ 'q:notify': ['1'] });
  });

  it('brings a job even if Redis has forgotten its scripts meanwhile', async () => {
    const waiting = reserveFrom(connection, { ...request, within: 60, signal: stop.signal });
    await waits(1);
    await world.client.script('FLUSH');
    await push('a');

    expect(ids(await waiting)).toEqual(['a']);
  });

  it('brings a job that was pushed before it', async () => {
    await push('a');
    expect(ids(await reserveFrom(connection, { ...request, within: 60, signal: stop.signal }))).toEqual(['a']);
  });

  it('ends at once when it is aborted, as does the next one', async () => {
    for (const end of [new AbortController(), new AbortController()]) {
      const waiting = reserveFrom(connection, { ...request, within: 60, signal: end.signal });
      await waits(1);
      end.abort();
      expect((await waiting)!.reservations).toEqual([]);
    }
  });

  it('makes no connection if it is aborted before it began, because nothing would end it', async () => {
    const { connections } = proxy;
    const waiting = reserveFrom(connection, { ...request, within: 60, signal: stop.signal });
    stop.abort();

    expect((await waiting)!.reservations).toEqual([]);
    expect(proxy.connections).toBe(connections);
  });

  it('replaces a pending read', async () => {
    void waitOn(connection, ['q'], 60, stop.signal);
    await waits(1);
    stop.abort();
    const waiting = reserveFrom(connection, { ...request, within: 60, signal: new AbortController().signal });
    await push('a');

    expect(ids(await waiting)).toEqual(['a']);
  });

  it('brings the job that it reserved even if the answer is lost, and no other job', async () => {
    const waiting = reserveFrom(connection, { ...request, within: 60, signal: stop.signal });
    await waits(1);
    proxy.loseReplies();
    await world.client.rpush(`${world.prefix}q`, payload('a'), payload('b'));
    await world.client.rpush(`${world.prefix}q:notify`, '1');

    const reply = await waiting;
    expect(ids(reply)).toEqual(['a']);
    expect(await connection.queues.counts('q')).toEqual({ ready: 1, delayed: 0, reserved: 1 });
  });

  it('is sent on another connection if the connection of the read is silent', async () => {
    const clock = new TestClock();
    connection = world.connect({ url: proxy.url }, { clock });
    const before = new AbortController();
    void waitOn(connection, ['q'], 2, before.signal);
    await waits(1);
    before.abort();
    proxy.goSilent();
    let reply: ReserveReply | undefined;
    void reserveFrom(connection, { ...request, within: 2, signal: stop.signal }).then((told) => (reply = told));
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

  it('is not sent behind the read of another worker, which may get the hint', async () => {
    const first = reserveFrom(connection, { ...request, within: 60, signal: stop.signal });
    await waits(1);
    const second = reserveFrom(connection, { ...request, within: 60, signal: stop.signal });
    await push('a');

    expect(ids(await first)).toEqual(['a']);
    await push('b');
    expect(ids(await second)).toEqual(['b']);
  });

  it('only waits if Redis refuses the read, because the reserve would be repeated at once again and again', async () => {
    await world.client.set(`${world.prefix}q:notify`, 'of another type');
    const again = { ...request, signal: stop.signal };
    await reserveFrom(connection, { ...again, within: 60 }).catch(() => undefined);

    const begun = systemClock.monotonic();
    await reserveFrom(connection, { ...again, within: 0.05 }).catch(() => undefined);
    expect(systemClock.monotonic() - begun).toBeGreaterThan(45);
  });
});

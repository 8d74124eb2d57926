import type { RedisConnection } from '../../../src/connections/redis/connection';
import type { Reservation, Settlement } from '../../../src/connections/contract';
import { debounceKey, uniqueKey, withTies } from '../../../src/payload/ties';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { RedisWorld } from './open-redis';
import { reserveFrom, settleIn } from '../../support/exchange';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const request = { queues: ['q'], limit: 10, lease: 600 };
const completed = (reservation: Reservation): Settlement => ({ outcome: 'completed', reservation });

/** Redis carries out each call, but the answer never arrives and the connection is cut. */
describe('a redis connection whose replies are lost', () => {
  let world: RedisWorld;
  let proxy: FaultyProxy;
  let connection: RedisConnection;

  beforeAll(async () => {
    world = await RedisWorld.start();
    proxy = await FaultyProxy.start(world.server.port);
  });

  beforeEach(async () => {
    world.fresh();
    connection = world.connect({ url: proxy.url });
    // Loads the scripts and connects, so that from here on only replies are lost.
    await connection.push('warm', [{ payload: payload('warm') }]);
    await reserveFrom(connection, { ...request, queues: ['warm'] });
  });

  afterEach(() => world.closeConnections());

  afterAll(async () => {
    await proxy.stop();
    await world.stop();
  });

  const texts = async (state: 'ready' | 'delayed' | 'reserved'): Promise<string[]> =>
    (await connection.queues.peek('q', state, 100)).map((job) => job.payload.toString());

  it('pushes each job once, however often the answer is lost', async () => {
    proxy.loseReplies(3);
    await connection.push('q', [{ payload: payload('a') }, { payload: payload('b'), delay: 300 }]);
    expect(await texts('ready')).toEqual([payload('a')]);
    expect(await texts('delayed')).toEqual([payload('b')]);
  });

  it('does not mistake its own repeat for a duplicate', async () => {
    proxy.loseReplies();
    await connection.push('q', [{ payload: payload('a'), delay: 300, distinct: true }]);
    expect(await texts('delayed')).toEqual([payload('a')]);
  });

  it('gets the same result for a unique key, and does not mistake its own repeat for the holder', async () => {
    const ties = { unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const } };
    const tied = (id: string) => ({ payload: withTies(payload(id), ties), ties });
    proxy.loseReplies(2);
    expect(await connection.push('q', [tied('a')])).toBeUndefined();
    proxy.loseReplies();
    const entries = [{ payload: payload('b') }, tied('c')];
    expect(await connection.push('q', entries)).toEqual(['queued', { duplicate: 'a' }]);
    expect(await texts('ready')).toEqual([tied('a').payload, payload('b')]);

    proxy.loseReplies();
    expect(await connection.queues.clear('q')).toBe(2);
    expect(await connection.push('q', [tied('d')])).toBeUndefined();
  });

  it('gets the same result for a debounced job, which replaces exactly one other', async () => {
    const ties = { debounce: { key: debounceKey('Probe', 'one', 'q') } };
    const debounced = (id: string) => ({ payload: withTies(payload(id), ties), ties, delay: 300 });
    proxy.loseReplies(2);
    expect(await connection.push('q', [debounced('a')])).toBeUndefined();
    proxy.loseReplies(2);
    expect(await connection.push('q', [debounced('b')])).toEqual([{ replaced: 'a' }]);
    proxy.loseReplies();
    const entries = [debounced('c'), { payload: payload('plain') }, debounced('d')];
    expect(await connection.push('q', entries)).toEqual([{ replaced: 'b' }, 'queued', { replaced: 'c' }]);
    expect(await texts('delayed')).toEqual([debounced('d').payload]);
    expect(await texts('ready')).toEqual([payload('plain')]);
  });

  it('gets the jobs that it reserved and no others', async () => {
    await connection.push('q', [{ payload: payload('a') }, { payload: payload('b') }]);
    proxy.loseReplies();
    const { reservations } = await reserveFrom(connection, { ...request, limit: 1 });
    expect(reservations).toHaveLength(1);
    expect(await texts('reserved')).toEqual(reservations.map((reservation) => reservation.payload.toString()));
    expect(await texts('ready')).toEqual([payload('b')]);
  });

  it('gets the result of each of its outcomes', async () => {
    await connection.push(
      'q',
      ['a', 'b', 'c'].map((id) => ({ payload: payload(id) })),
    );
    const [a, b, c] = (await reserveFrom(connection, request)).reservations;
    const failure = { id: 'c', name: 'Probe', exception: 'no' };
    proxy.loseReplies();
    const results = await settleIn(connection, [
      completed(a!),
      completed(a!),
      { outcome: 'released', reservation: b!, delay: 0, counters: b!.counters },
      { outcome: 'failed', reservation: c!, counters: c!.counters, failure },
    ]);
    expect(results).toEqual(['settled', 'lost', 'settled', 'settled']);
    expect(await texts('ready')).toEqual([b!.payload.toString()]);
    expect(await texts('reserved')).toEqual([]);
    expect(await connection.failed.count()).toBe(1);
  });

  it('settles and reserves once if both travel in one call', async () => {
    await connection.push(
      'q',
      ['a', 'b', 'c'].map((id) => ({ payload: payload(id) })),
    );
    const [first] = (await reserveFrom(connection, { ...request, limit: 1 })).reservations;
    proxy.loseReplies(2);
    const { results, reply } = await connection.exchange([completed(first!)], { ...request, limit: 1 });
    expect(results).toEqual(['settled']);
    expect(await texts('reserved')).toEqual(reply.reservations.map((reservation) => reservation.payload.toString()));
    expect(await connection.queues.counts('q')).toEqual({ ready: 1, delayed: 0, reserved: 1 });
  });

  it('promotes each job once', async () => {
    await connection.push('q', [{ payload: payload('a'), delay: 300 }]);
    world.offset = 500;
    proxy.loseReplies();
    expect((await reserveFrom(connection, request)).reservations).toHaveLength(1);
    expect(await connection.queues.counts('q')).toEqual({ ready: 0, delayed: 0, reserved: 1 });
  });

  it('renews', async () => {
    await connection.push('q', [{ payload: payload('a') }]);
    const { reservations } = await reserveFrom(connection, request);
    proxy.loseReplies();
    expect(await connection.renew(reservations, 900)).toEqual(['renewed']);
  });

  it('sends a failed job back once', async () => {
    await connection.push('q', [{ payload: payload('a') }]);
    const [reservation] = (await reserveFrom(connection, request)).reservations;
    const failure = { id: 'a', name: 'Probe', exception: 'no' };
    await settleIn(connection, [
      { outcome: 'failed', reservation: reservation!, counters: reservation!.counters, failure },
    ]);
    proxy.loseReplies();
    expect(await connection.failed.retry((await connection.failed.find('a'))[0]!, Buffer.from(payload('a')))).toBe(
      true,
    );
    expect(await texts('ready')).toEqual([payload('a')]);
  });

  it('removes failed jobs and clears queues once, and returns the right counts', async () => {
    const entry = {
      name: 'Probe',
      exception: 'no',
      connection: 'x',
      queue: 'q',
      payload: Buffer.from('{}'),
      attempts: 1,
    };
    for (const id of ['a', 'b']) await connection.failed.put({ ...entry, id });
    await connection.push('q', [{ payload: payload('a') }]);
    proxy.loseReplies();
    expect(await connection.failed.forget({ id: 'a', queue: 'q' })).toBe(true);
    proxy.loseReplies();
    expect(await connection.failed.flush()).toBe(1);
    proxy.loseReplies();
    expect(await connection.queues.clear('q')).toBe(1);
  });
});

import type { RedisConnection } from '../../../src/connections/redis/connection';
import type { Settlement } from '../../../src/connections/contract';
import { RedisWorld } from './open-redis';
import { reserveFrom, settleIn } from '../../support/exchange';

const payload = (id: string | number): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const numbered = (count: number): string[] => Array.from({ length: count }, (_, at) => payload(at));

describe('the calls of a redis connection', () => {
  let world: RedisWorld;
  let connection: RedisConnection;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  beforeEach(async () => {
    world.fresh();
    connection = world.connect();
    await connection.push('warm', [{ payload: payload('warm') }]);
    await reserveFrom(connection, { queues: ['warm'], limit: 1, lease: 60 });
    await world.client.config('RESETSTAT');
  });

  afterEach(() => world.closeConnections());
  afterAll(() => world.stop());

  const calls = async (): Promise<number> => {
    const stats = await world.client.info('commandstats');
    return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  };
  const ready = (): Promise<string[]> => world.client.lrange(`${world.prefix}q`, 0, -1);

  it('combine the dispatches of one turn, in their order', async () => {
    const payloads = numbered(100);
    await Promise.all(payloads.map((text) => connection.push('q', [{ payload: text }])));
    expect(await ready()).toEqual(payloads);
    expect(await calls()).toBe(1);
  });

  it('carry a hundred entries each at most', async () => {
    const payloads = numbered(250);
    await connection.push(
      'q',
      payloads.map((text) => ({ payload: text })),
    );
    expect(await ready()).toEqual(payloads);
    expect(await calls()).toBe(3);
  });

  it('carry a mebibyte each at most', async () => {
    const long = (id: number): string => payload(id).replace('{}', `"${'x'.repeat(600_000)}"`);
    await Promise.all([1, 2, 3].map((id) => connection.push('q', [{ payload: long(id) }])));
    expect(await connection.queues.counts('q')).toMatchObject({ ready: 3 });
    expect(await calls()).toBe(3 + 1);
  });

  it('combine a settle with a reserve made at the same time', async () => {
    await connection.push(
      'q',
      numbered(3).map((text) => ({ payload: text })),
    );
    const request = { queues: ['q'], limit: 1, lease: 60 };
    const { reservations } = await reserveFrom(connection, request);
    await world.client.config('RESETSTAT');
    const outcomes = reservations.map((reservation): Settlement => ({ outcome: 'completed', reservation }));
    const [results, reply] = await Promise.all([settleIn(connection, outcomes), reserveFrom(connection, request)]);
    expect([results, reply.reservations.length]).toEqual([['settled'], 1]);
    expect(await calls()).toBe(1);
  });

  it('give each of two simultaneous reserves its own jobs', async () => {
    await connection.push(
      'q',
      numbered(4).map((text) => ({ payload: text })),
    );
    const request = { queues: ['q'], limit: 2, lease: 60 };
    const replies = await Promise.all([reserveFrom(connection, request), reserveFrom(connection, request)]);
    expect(replies.map(({ reservations }) => reservations.length)).toEqual([2, 2]);
    expect(await connection.queues.counts('q')).toEqual({ ready: 0, delayed: 0, reserved: 4 });
    // Each was sent without waiting for the other, and so under a client name of its own.
    expect(await world.client.keys(`${world.prefix}q:client:*`)).toHaveLength(3);
  });

  it('refuse a duplicate only to the push that contains it, not to others in the same call', async () => {
    await connection.push('q', [{ payload: payload('a'), delay: 100, distinct: true }]);
    const results = await Promise.allSettled([
      connection.push('q', [{ payload: payload('b'), delay: 100, distinct: true }]),
      connection.push('q', [{ payload: payload('a'), delay: 100, distinct: true }]),
      connection.push('q', [{ payload: payload('c') }]),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: { code: 'E_DUPLICATE_PAYLOAD', facts: { queue: 'q' } } });
    expect(await connection.queues.counts('q')).toEqual({ ready: 1, delayed: 2, reserved: 0 });
  });

  it('add a queue to the known queues once', async () => {
    await connection.push('q', [{ payload: payload('a') }]);
    await connection.push('q', [{ payload: payload('b') }]);
    expect(await world.client.info('commandstats')).toContain('cmdstat_sadd:calls=1,');
    expect(await connection.queues.names()).toEqual(['q', 'warm']);
  });

  it('add the queue of a failed job to the known queues, even if another client pushed the job', async () => {
    await world.client.rpush(`${world.prefix}theirs`, payload('a'), 'no JSON');
    const { reservations } = await reserveFrom(connection, { queues: ['theirs'], limit: 5, lease: 60 });
    const failure = { id: 'a', name: 'Probe', exception: 'no' };
    await settleIn(
      connection,
      reservations.map((reservation) => ({ outcome: 'failed', reservation, counters: reservation.counters, failure })),
    );
    expect((await connection.failed.list({ limit: 10 })).map(({ queue }) => queue)).toEqual(['theirs', 'theirs']);
  });
});

/** Jobs that follow an outcome are pushed in the same call. */
import { TestClock } from '../../../src/testing/test-clock';
import type { FollowUp, Reservation, Settlement } from '../../../src/connections/contract';
import type { RedisConnection } from '../../../src/connections/redis/connection';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { RedisWorld } from './open-redis';
import { reserveFrom, settleIn, waitOn } from '../../support/exchange';

const payload = (id: string, text = ''): string =>
  `{"job":"probe","data":{"text":"${text}"},"id":"${id}","attempts":0}`;
const followUp = (queue: string, id: string, text = ''): FollowUp => ({
  queue,
  entry: { payload: payload(id, text) },
});
const completed = (reservation: Reservation, ...next: readonly FollowUp[]): Settlement => ({
  outcome: 'completed',
  reservation,
  next,
});

let world: RedisWorld;
let proxy: FaultyProxy;
let connection: RedisConnection;

beforeAll(async () => {
  world = await RedisWorld.start();
  proxy = await FaultyProxy.start(world.server.port);
});

beforeEach(() => {
  world.fresh();
  connection = world.connect({ url: proxy.url });
});

afterEach(() => world.closeConnections());

afterAll(async () => {
  await proxy.stop();
  await world.stop();
});

const held = async (...ids: readonly string[]): Promise<readonly Reservation[]> => {
  await connection.push(
    'q',
    ids.map((id) => ({ payload: payload(id) })),
  );
  const { reservations } = await reserveFrom(connection, { queues: ['q'], limit: ids.length, lease: 600 });
  return reservations;
};

const ready = (queue: string): Promise<string[]> => world.client.lrange(world.prefix + queue, 0, -1);

it('a queue that only following jobs were pushed to is known', async () => {
  const [a] = await held('a');
  await settleIn(connection, [completed(a!, followUp('never used', 'b'))]);
  expect(await connection.queues.names()).toEqual(['never used', 'q']);
});

it.each([1, 2, 3])('a following job is pushed once, however many replies are lost (%d)', async (count) => {
  const [a, b] = await held('a', 'b');
  const counters = b!.counters;
  const failure = { id: 'b', name: 'Probe', exception: 'no' };
  proxy.loseReplies(count);
  const results = await settleIn(connection, [
    completed(a!, followUp('r', 'a2')),
    completed(a!, followUp('r', 'never')),
    { outcome: 'failed', reservation: b!, counters, failure, next: [followUp('r', 'b2')] },
  ]);
  expect(results).toEqual(['settled', 'lost', 'settled']);
  expect(await ready('r')).toEqual([payload('a2'), payload('b2')]);
  expect(await connection.failed.count()).toBe(1);
});

it('following jobs count towards the limits of a call, a hundred jobs and 1 MiB', async () => {
  const calls: number[] = [];
  const isFollower = (word: string): boolean => word.includes('"id":"next');
  const monitor = await world.client.monitor();
  monitor.on('monitor', (_: unknown, words: string[]) => {
    if (words[0] === 'evalsha') calls.push(words.filter(isFollower).length);
  });
  const ids = Array.from({ length: 60 }, (_, at) => `job-${at}`);
  const jobs = [...(await held(...ids)), ...(await held(...ids))];
  const ends = jobs.map((job, at) => completed(job, followUp('r', `next-${at}`, at < 5 ? 'x'.repeat(400_000) : '')));

  await settleIn(connection, ends.slice(0, 5));
  await settleIn(connection, ends.slice(5, 60));
  // Two settles with fewer jobs would travel in one call.
  await Promise.all([settleIn(connection, ends.slice(60, 90)), settleIn(connection, ends.slice(90))]);
  await world.client.ping();
  monitor.disconnect();

  expect(calls.filter((count) => count > 0)).toEqual([2, 2, 1, 50, 5, 30, 30]);
  expect(await ready('r')).toHaveLength(120);
});

it('a following job whose queue is a foreign key holds up no other outcome, and is pushed once that is mended', async () => {
  const [a, b] = await held('a', 'b');
  await world.client.set(`${world.prefix}r`, 'nothing of ours');
  const ends = [completed(a!, followUp('q', 'a1'), followUp('r', 'a2')), completed(b!, followUp('q', 'b2'))];

  const refusal = expect.objectContaining({ key: `${world.prefix}r`, type: 'string', expected: 'list' }) as unknown;
  await expect(settleIn(connection, ends)).rejects.toMatchObject({ code: 'E_REDIS_FOREIGN_KEY', facts: refusal });
  expect(await settleIn(connection, ends.slice(1))).toEqual(['settled']);
  await expect(settleIn(connection, ends.slice(0, 1))).rejects.toMatchObject({ code: 'E_REDIS_FOREIGN_KEY' });
  expect(await ready('q')).toEqual([payload('b2')]);
  expect(await connection.queues.counts('q')).toMatchObject({ reserved: 1 });

  await world.client.del(`${world.prefix}r`);
  expect(await settleIn(connection, ends.slice(0, 1))).toEqual(['settled']);
  expect(await ready('q')).toEqual([payload('b2'), payload('a1')]);
  expect(await ready('r')).toEqual([payload('a2')]);
});

it('a following job wakes a worker of its queue', async () => {
  const [a] = await held('a');
  const other = world.connect({}, { clock: new TestClock() });
  const request = { queues: ['r'], limit: 1, lease: 600 };
  await reserveFrom(other, request);
  const waiting = waitOn(other, ['r'], 60, new AbortController().signal);
  await settleIn(connection, [completed(a!, followUp('r', 'b'))]);
  await waiting;
  expect((await reserveFrom(other, request)).reservations).toHaveLength(1);
});

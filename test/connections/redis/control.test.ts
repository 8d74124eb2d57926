import type { RedisCaller } from '../../../src/connections/redis/caller';
import { Keys } from '../../../src/connections/redis/keys';
import { QueueNames, SilentMasters } from '../../../src/connections/redis/store';
import type { RedisConnection } from '../../../src/connections/redis/connection';
import { RecordedCalls } from '../../../src/connections/redis/lane';
import { RedisControl } from '../../../src/connections/redis/control';
import type { ReserveReply } from '../../../src/connections/contract';
import { TestClock } from '../../../src/testing/test-clock';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { RedisWorld, silent } from './open-redis';
import { reserveFrom, settleIn } from '../../support/exchange';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
/** A Redis that gives the scripts these answers in turn and notes the keys from which marks are removed. */
function answering(
  words: readonly string[],
  cluster: boolean,
  { removed = 1, seen = -1 } = {},
): { control: RedisControl; unmarked: string[] } {
  const answers = [...words];
  const unmarked: string[] = [];
  const caller = {
    settings: { clock: new TestClock() },
    script: async () => [Buffer.from(answers.shift()!), seen],
    command: async (command: string, [key]: readonly string[]) => {
      if (command === 'smembers') return ['a', 'b', 'c'].map((name) => Buffer.from(name));
      if (command === 'zrem') unmarked.push(key!);
      return removed;
    },
  } as unknown as RedisCaller;
  const keys = new Keys('t:', cluster);
  const names = new QueueNames(caller, keys.names);
  const masters = new SilentMasters(caller);
  const recorded = new RecordedCalls(caller, keys);
  const store = { caller, keys, recorded, names, cluster: cluster ? { ordered: names, masters } : undefined };
  const control = new RedisControl(store);
  return { control, unmarked };
}

/** More jobs than are examined from both ends of a queue. */
const MANY = 300;
/** More jobs than are searched in a queue. */
const TOO_MANY = 10_400;

describe('the control of a redis connection', () => {
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
    await connection.push('first', [{ payload: payload('a') }]);
    await connection.push('second', [{ payload: payload('b') }]);
  });

  afterEach(() => world.closeConnections());

  afterAll(async () => {
    await proxy.stop();
    await world.stop();
  });

  const fill = async (queue: string, count = MANY): Promise<void> => {
    const texts = Array.from({ length: count }, (_, at) => payload(`${queue}-${at}`));
    await world.client.rpush(`${world.prefix}${queue}`, ...texts);
  };
  const marks = async (): Promise<unknown> => (await world.keys())[':cancelled'];

  it('finds a job behind queues that are too long to be examined, and leaves no mark', async () => {
    await fill('first');
    expect(await connection.control.cancel('b')).toBe('removed');
    expect(await marks()).toBeUndefined();
  });

  it('finds a job in the middle of any of several long queues, and leaves no mark', async () => {
    await fill('first');
    await fill('second');
    expect(await connection.control.cancel('second-150')).toBe('removed');
    expect(await connection.queues.counts('second')).toMatchObject({ ready: MANY });
    expect(await marks()).toBeUndefined();
  });

  it('recognises an id that is in none of several long queues, and leaves no mark', async () => {
    await fill('first');
    await fill('second');
    expect(await connection.control.cancel('nobody', undefined, 'a reason')).toBe('unknown');
    expect(Object.keys(await world.keys()).filter((key) => key.includes('cancelled'))).toEqual([]);
  });

  it('does not report an id as unknown if a worker has already met its mark', async () => {
    const { control } = answering(['unseen', 'marked', 'unknown'], false, { removed: 0, seen: 100 });
    expect(await control.cancel('a', 'a')).toBe('marked');
  });

  it('marks an id once that may be in any of several queues too long to be searched', async () => {
    await fill('first', TOO_MANY);
    await fill('second', TOO_MANY);
    expect(await connection.control.cancel('second-110')).toBe('marked');
    expect(await marks()).toEqual([['second-110', expect.any(Number)]]);
  });

  it('hands a marked job out as cancelled', async () => {
    await fill('first', TOO_MANY);
    await connection.control.cancel('first-110', 'first');
    const request = { queues: ['first'], limit: 100, lease: 60 };
    const pages = [await reserveFrom(connection, request), await reserveFrom(connection, request)];
    const cancelled = pages.flatMap(({ reservations }) => reservations).filter((one) => one.cancelled === true);
    expect(cancelled.map(({ payload: text }) => text.toString())).toEqual([
      payload('first-110').replace('"attempts":0', '"attempts":1'),
    ]);
  });

  it.each([
    ['removed', false, ['t::cancelled']],
    ['signalled', false, []],
    ['removed', true, ['t:{a}:cancelled', 't:{b}:cancelled']],
    ['signalled', true, ['t:{a}:cancelled', 't:{b}:cancelled']],
  ])('removes other marks when a job is %s that was found late (in a cluster: %s)', async (word, cluster, keys) => {
    const words = ['unseen', 'unseen', 'unseen', 'marked', 'marked', word];
    const { control, unmarked } = answering(words, cluster);
    expect(await control.cancel('a')).toBe(word);
    expect(unmarked).toEqual(keys);
  });

  it('cancels, pauses and resumes once and reports it, even if replies are lost', async () => {
    await connection.push('first', [{ payload: payload('a') }]);
    await connection.control.cancel('warm');
    await connection.control.resume('warm');
    await connection.control.pause('warm');
    const answers: unknown[] = [];
    proxy.loseReplies(2);
    answers.push(await connection.control.cancel('a'));
    proxy.loseReplies(2);
    answers.push(await connection.control.pause('first'));
    proxy.loseReplies(2);
    answers.push(await connection.control.resume('first'));
    expect(answers).toEqual(['removed', true, true]);
    expect([await connection.queues.counts('first'), await connection.control.paused()]).toEqual([
      { ready: 1, delayed: 0, reserved: 0 },
      [{ queue: 'warm' }],
    ]);
  });

  it('does not report lost data from a settle, but once from the next reserve', async () => {
    const request = { queues: ['first'], limit: 1, lease: 60 };
    const { reservations } = await reserveFrom(connection, request);
    await world.client.flushall();
    expect(await settleIn(connection, [{ outcome: 'completed', reservation: reservations[0]! }])).toEqual(['lost']);
    const told = [await reserveFrom(connection, request), await reserveFrom(connection, request)];
    expect(told.map(({ forgotten }) => forgotten)).toEqual([true, undefined]);
  });

  it('does not mistake a first call on a queue, or a record that has expired, for lost data', async () => {
    const clock = new TestClock();
    const patient = world.connect({}, { clock });
    const request = { limit: 1, lease: 60 };
    const replies = [await reserveFrom(patient, { ...request, queues: ['first'] })];
    replies.push(await reserveFrom(patient, { ...request, queues: ['second'] }));
    await clock.advance(3600);
    await world.client.del(await world.client.keys(`${world.prefix}*:client:*`));
    replies.push(await reserveFrom(patient, { ...request, queues: ['first'] }));
    expect(replies.map(({ forgotten }) => forgotten)).toEqual([undefined, undefined, undefined]);
  });

  it('reports lost data once, whichever queue it is noticed on', async () => {
    const request = { limit: 1, lease: 60 };
    for (const queue of ['first', 'second']) await reserveFrom(connection, { ...request, queues: [queue] });
    await world.client.flushall();
    const replies = [];
    for (const queue of ['first', 'second'])
      replies.push(await reserveFrom(connection, { ...request, queues: [queue] }));
    expect(replies.map(({ forgotten }) => forgotten)).toEqual([true, undefined]);
  });

  it('reports lost data once even with two calls at the same time', async () => {
    const both = (): Promise<readonly ReserveReply[]> => {
      const request = { queues: ['first'], limit: 1, lease: 60 };
      return Promise.all([reserveFrom(connection, request), reserveFrom(connection, request)]);
    };
    await both();
    await world.client.flushall();
    expect((await both()).filter(({ forgotten }) => forgotten)).toHaveLength(1);
  });

  it('logs lost data that only pushes notice', async () => {
    const errors: unknown[] = [];
    const logger = { ...silent, error: (facts: unknown) => void errors.push(facts) };
    const pusher = world.connect({}, { logger });
    await pusher.push('first', [{ payload: payload('c') }]);
    await world.client.flushall();
    await pusher.push('first', [{ payload: payload('d') }]);
    await pusher.push('first', [{ payload: payload('e') }]);
    expect(errors).toEqual([
      { connection: 'redis', address: expect.any(String), queue: 'first', outcome: 'forgotten' },
    ]);
  });
});

/** Pushes of several full calls at once: each job is pushed once and in order, even if answers are lost. */
import { systemClock } from '../../../src/base/clock';
import { RedisCaller } from '../../../src/connections/redis/caller';
import { clientSource } from '../../../src/connections/redis/client';
import { Keys } from '../../../src/connections/redis/keys';
import { RedisLink } from '../../../src/connections/redis/link';
import { PushLane } from '../../../src/connections/redis/push';
import type { RedisStore } from '../../../src/connections/redis/store';
import type { RedisConnection } from '../../../src/connections/redis/connection';
import { uniqueKey, withTies } from '../../../src/payload/ties';
import { Gate } from '../../support/application';
import { eventually } from '../../support/eventually';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { RedisWorld, silent } from './open-redis';

const PAGES = 8;

const payload = (id: number | string, text = ''): string =>
  `{"job":"probe","data":{"text":"${text}"},"id":"${id}","attempts":0}`;

/** Pages of a hundred jobs each, which fill a call. */
const pages = (text = '', count = PAGES): string[][] =>
  Array.from({ length: count }, (_, page) => Array.from({ length: 100 }, (_, at) => payload(page * 100 + at, text)));

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
  await connection.push('q', [{ payload: payload('first') }]);
});

afterEach(async () => {
  await world.client.config('SET', 'maxmemory', '0');
  await world.closeConnections();
});

afterAll(async () => {
  await proxy.stop();
  await world.stop();
});

const push = (page: readonly string[]): Promise<unknown> =>
  connection.push(
    'q',
    page.map((text) => ({ payload: text })),
  );
const ready = (): Promise<string[]> => world.client.lrange(`${world.prefix}q`, 1, -1);

it('full pushes are sent without waiting for answers, and recognised as done when the answers are lost', async () => {
  proxy.delay(600_000);
  const pushes = pages('', 4).map(push);
  await eventually(async () => (await ready()).length === 400);

  proxy.delay(0);
  proxy.cut();
  await Promise.all(pushes);
  expect(await ready()).toEqual(pages('', 4).flat());
});

// Longer than a socket takes at once, so that the connection ends before some calls have arrived.
it.each(Array.from({ length: PAGES }, (_, lost) => lost + 1))(
  'full pushes are done once and in order when %d connections end at an answer',
  async (lost) => {
    const long = pages('x'.repeat(3000));
    proxy.loseReplies(lost);
    await Promise.all(long.map(push));
    expect(await ready()).toEqual(long.flat());
  },
);

it('each full push reports its own result when some are refused', async () => {
  const long = pages('x'.repeat(3000));
  const used = Number(/used_memory:(\d+)/.exec(await world.client.info('memory'))![1]);
  await world.client.config('SET', 'maxmemory', String(used + 1_500_000));
  const results = await Promise.allSettled(long.map(push));

  const taken = long.filter((_, at) => results[at]!.status === 'fulfilled');
  expect(taken.length).toBeGreaterThan(0);
  expect(taken.length).toBeLessThan(PAGES);
  expect(await ready()).toEqual(taken.flat());
});

it('full pushes wait behind a push that may be refused as a duplicate, so that its answer is not lost', async () => {
  const unique = (id: string) => connection.push('q', [{ payload: payload(id), delay: 300, distinct: true }]);
  await unique('a');
  proxy.loseReplies(2);
  const results = await Promise.allSettled([unique('a'), unique('b'), ...pages().map(push)]);

  expect(results.map(({ status }) => status)).toEqual(['rejected', ...Array(PAGES + 1).fill('fulfilled')]);
  expect(results[0]).toMatchObject({ reason: { code: 'E_DUPLICATE_PAYLOAD' } });
  expect(await ready()).toEqual(pages().flat());
});

it('full pushes wait behind a push with a unique key, so that its answer is not lost', async () => {
  const ties = { unique: { key: uniqueKey('Probe', 'one'), until: 'end' as const } };
  const unique = (id: string) => connection.push('q', [{ payload: withTies(payload(id), ties), ties }]);
  await unique('a');
  proxy.loseReplies(2);
  const [b, ...others] = await Promise.all([unique('b'), ...pages().map(push)]);

  expect(b).toEqual([{ duplicate: 'a' }]);
  expect(others).toEqual(others.map(() => undefined));
  expect((await ready()).slice(1)).toEqual(pages().flat());
});

it('a push waits for all earlier ones, even if the one right before it was given up', async () => {
  const link = new RedisLink(clientSource({ driver: 'redis', url: world.url }));
  const settings = { name: 'redis', address: world.url, clock: systemClock, deadline: 60, logger: silent };
  const earlier = new Gate();
  let gaps = 0;
  class FaultyCaller extends RedisCaller {
    override async script(...call: Parameters<RedisCaller['script']>): Promise<readonly unknown[]> {
      const [sequence] = call[2];
      if (sequence === 1) await earlier.opened;
      if (sequence === 2) throw new Error('given up');
      const reply = await super.script(...call);
      if (String(reply[0]) === 'gap') gaps += 1;
      return reply;
    }
  }
  const keys = new Keys(world.prefix, false);
  const lane = new PushLane({ caller: new FaultyCaller(link, settings), keys } as RedisStore, 'q');
  const [one, two, three] = pages('', 3);
  const pushes = [one, two, three].map((page) => lane.push(page!.map((text) => ({ payload: text }))));
  await expect(pushes[1]).rejects.toThrow('given up');
  await eventually(() => gaps === 1);

  earlier.open();
  await Promise.all([pushes[0], pushes[2]]);
  link.close();
  expect(await ready()).toEqual([...one!, ...three!]);
});

it('full pushes are done after Redis has lost its records, and the loss is logged', async () => {
  const logged: unknown[] = [];
  connection = world.connect({}, { logger: { ...console, error: (facts: unknown) => logged.push(facts) } });
  await push(pages('', 1)[0]!);
  await world.client.flushdb();
  await Promise.all(pages().map(push));

  expect(await world.client.lrange(`${world.prefix}q`, 0, -1)).toEqual(pages().flat());
  expect(logged).toMatchObject([{ outcome: 'forgotten', queue: 'q' }]);
});

it('a page of large jobs is read in a few calls, and the next page goes on behind it', async () => {
  const large = Array.from({ length: 12 }, (_, at) => payload(at, 'x'.repeat(900_000)));
  await connection.push(
    'large',
    large.map((text) => ({ payload: text })),
  );
  const { peek } = connection.queues;

  const first = await peek('large', 'ready', 50);
  const second = await peek('large', 'ready', 50, first.at(-1)!.place);

  expect(first).toHaveLength(8);
  expect([...first, ...second].map((job) => job.payload.toString())).toEqual(large);
});

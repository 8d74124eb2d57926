/** Pushes that fill calls: several are under way, and each job goes in once, in order, whatever becomes of the answers. */
import type { RedisConnection } from '../../../src/connections/redis/redis-connection';
import { eventually } from '../../support/eventually';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { RedisWorld } from './open-redis';

const PAGES = 8;

const payload = (id: number | string, text = ''): string =>
  `{"job":"probe","data":{"text":"${text}"},"id":"${id}","attempts":0}`;

/** A hundred jobs for each page, which is what a call takes. */
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

const push = (page: readonly string[]): Promise<void> =>
  connection.push(
    'q',
    page.map((text) => ({ payload: text })),
  );
const ready = (): Promise<string[]> => world.client.lrange(`${world.prefix}q`, 1, -1);

it('are sent behind each other without waiting for answers, and found to be in when these are lost', async () => {
  proxy.delay(600_000);
  const pushes = pages('', 4).map(push);
  await eventually(async () => (await ready()).length === 400);

  proxy.delay(0);
  proxy.cut();
  await Promise.all(pushes);
  expect(await ready()).toEqual(pages('', 4).flat());
});

// Longer than what a socket takes at once: the connection ends while some calls have not arrived.
it.each(Array.from({ length: PAGES }, (_, lost) => lost + 1))(
  'go in once, and in order, when %d connections end at an answer',
  async (lost) => {
    const long = pages('x'.repeat(3000));
    proxy.loseReplies(lost);
    await Promise.all(long.map(push));
    expect(await ready()).toEqual(long.flat());
  },
);

it('wait for one that is refused: what is said of each is what became of it', async () => {
  const long = pages('x'.repeat(3000));
  const used = Number(/used_memory:(\d+)/.exec(await world.client.info('memory'))![1]);
  await world.client.config('SET', 'maxmemory', String(used + 1_500_000));
  const results = await Promise.allSettled(long.map(push));

  const taken = long.filter((_, at) => results[at]!.status === 'fulfilled');
  expect(taken.length).toBeGreaterThan(0);
  expect(taken.length).toBeLessThan(PAGES);
  expect(await ready()).toEqual(taken.flat());
});

it('hold back behind a call that may be refused a duplicate, so that its answer is not lost', async () => {
  const unique = (id: string) => connection.push('q', [{ payload: payload(id), delay: 300, unique: true }]);
  await unique('a');
  proxy.loseReplies(2);
  const results = await Promise.allSettled([unique('a'), unique('b'), ...pages().map(push)]);

  expect(results.map(({ status }) => status)).toEqual(['rejected', ...Array(PAGES + 1).fill('fulfilled')]);
  expect(results[0]).toMatchObject({ reason: { code: 'E_DUPLICATE_PAYLOAD' } });
  expect(await ready()).toEqual(pages().flat());
});

it('go in after Redis has lost its records, and say that it has', async () => {
  const logged: unknown[] = [];
  connection = world.connect({}, { logger: { ...console, error: (facts: unknown) => logged.push(facts) } });
  await push(pages('', 1)[0]!);
  await world.client.flushdb();
  await Promise.all(pages().map(push));

  expect(await world.client.lrange(`${world.prefix}q`, 0, -1)).toEqual(pages().flat());
  expect(logged).toMatchObject([{ outcome: 'forgotten', queue: 'q' }]);
});

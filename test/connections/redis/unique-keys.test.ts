/** How a connection passes unique keys to the scripts, beside other jobs. */
import type { Entry, Reservation, Settlement } from '../../../src/connections/contract';
import { givenBack } from '../../../src/connections/kit/connection';
import type { RedisConnection } from '../../../src/connections/redis/connection';
import { uniqueKey, withTies } from '../../../src/payload/ties';
import { RedisWorld, silent } from './open-redis';
import { reserveFrom, settleIn } from '../../support/exchange';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const plain = (id: string): Entry => ({ payload: payload(id) });
const unique = (id: string, key = id, more: Partial<Entry> = {}): Entry => {
  const ties = { unique: { key: uniqueKey('Probe', key), until: 'end' as const } };
  return { payload: withTies(payload(id), ties), ties, ...more };
};

let world: RedisWorld;
let connection: RedisConnection;

beforeAll(async () => {
  world = await RedisWorld.start();
});

beforeEach(() => {
  world.fresh();
  connection = world.connect();
});

afterEach(() => world.closeConnections());

afterAll(() => world.stop());

const held = async (...entries: readonly Entry[]): Promise<readonly Reservation[]> => {
  await connection.push('q', entries);
  const { reservations } = await reserveFrom(connection, { queues: ['q'], limit: entries.length, lease: 600 });
  return reservations;
};
const holders = async (): Promise<readonly string[]> =>
  Object.values(await world.client.hgetall(`${world.prefix}:unique`)).toSorted();

it('returns the result of each of many different outcomes, and frees the unique keys of ended jobs', async () => {
  const jobs = await held(
    ...[plain('a'), unique('b'), plain('c'), unique('d'), plain('e'), unique('f'), plain('g'), unique('h')],
    ...[plain('i'), unique('j')],
  );
  const [a, b, c, d, e, f, g, h, i, j] = jobs as readonly Reservation[] & { readonly length: 10 };
  const failed = (reservation: Reservation): Settlement => ({
    ...{ outcome: 'failed', reservation, counters: reservation.counters },
    failure: { id: 'failed', name: 'Probe', exception: 'no' },
  });
  const next = (id: string, queue = 'q', delay = 0) => [{ queue, entry: { payload: payload(id), delay } }];
  const gone = (reservation: Reservation): Reservation => ({
    ...reservation,
    payload: Buffer.from(reservation.payload.toString().replace('"attempts":1', '"attempts":7')),
  });
  const settlements: Settlement[] = [
    { outcome: 'completed', reservation: a! },
    { outcome: 'completed', reservation: gone(j!) },
    { outcome: 'completed', reservation: b! },
    { outcome: 'completed', reservation: c!, next: next('c2') },
    { outcome: 'completed', reservation: gone(a!), next: next('never') },
    { outcome: 'completed', reservation: d!, next: next('d2') },
    { outcome: 'completed', reservation: e!, next: [...next('e2', 'r'), ...next('e3', 'q', 60)] },
    failed(f!),
    givenBack(g!),
    { outcome: 'cancelled', reservation: h! },
    failed(gone(j!)),
    { outcome: 'completed', reservation: i! },
  ];

  const results = await settleIn(connection, settlements);

  const lost = results.flatMap((result, at) => (result === 'lost' ? [at] : []));
  expect([results.length, lost]).toEqual([12, [1, 4, 10]]);
  expect(await holders()).toEqual(['0 j']);
  expect((await world.client.lrange(`${world.prefix}q`, 1, -1)).toSorted()).toEqual([payload('c2'), payload('d2')]);
  expect(await world.client.lrange(`${world.prefix}r`, 0, -1)).toEqual([payload('e2')]);
  expect(await connection.queues.counts('q')).toEqual({ ready: 3, delayed: 1, reserved: 1 });
});

it('tells each of several pushes in one call which of its entries were refused', async () => {
  await connection.push('q', [plain('first')]);
  const results = await Promise.all([
    connection.push('q', [plain('a'), unique('b', 'one', { delay: 60 }), unique('c')]),
    connection.push('q', [plain('d')]),
    connection.push('q', [unique('e', 'one'), unique('f', 'c', { delay: 60 }), plain('g')]),
  ]);
  expect(results).toEqual([undefined, undefined, [{ duplicate: 'b' }, { duplicate: 'c' }, 'queued']]);
  expect(await world.client.lrange(`${world.prefix}q`, 1, -1)).toEqual(
    [plain('a'), unique('c'), plain('d'), plain('g')].map((entry) => entry.payload),
  );
  expect(await holders()).toEqual(['0 b', '0 c']);
});

it('frees the unique key of a job whose id is not ASCII', async () => {
  const [job] = await held(unique('jöb ☃'));
  expect(await holders()).toEqual(['0 jöb ☃']);
  await settleIn(connection, [{ outcome: 'completed', reservation: job! }]);
  expect(await holders()).toEqual([]);
});

it('does not take a full server, which records no call that writes nothing else, for one that has lost data', async () => {
  const said: string[] = [];
  connection = world.connect({}, { logger: { ...silent, error: (_, message) => void said.push(message) } });
  await connection.push('q', [unique('a')]);
  await world.client.config('SET', 'maxmemory', '1');
  const pushed = await connection.push('q', [unique('b', 'a')]);
  await world.client.config('SET', 'maxmemory', '0');

  await connection.push('q', [plain('c')]);

  expect(pushed).toEqual([{ duplicate: 'a' }]);
  expect(said).toEqual([]);
});

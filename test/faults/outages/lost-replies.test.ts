import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RedisConnection } from '../../../src/connections/redis/connection';
import type { Entry, Reservation } from '../../../src/connections/contract';
import { withTies } from '../../../src/payload/ties';
import { keyspace } from '../../connections/redis/keyspace';
import { RedisWorld } from '../../connections/redis/open-redis';
import { FaultyProxy } from '../kit/faulty-proxy';
import { reserveFrom, settleIn } from '../../support/exchange';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const request = { queues: ['q'], limit: 2, lease: 600 };
const failed = (id: string) => ({
  ...{ id, name: 'Probe', exception: 'no', connection: 'redis', queue: 'q', attempts: 1 },
  payload: Buffer.from(payload(id)),
});

const record = { kind: 'probe', id: 'kept', value: '1' };
const changed = { ...record, value: '2' };
const sums = [{ name: 'm1', amounts: { a: 1 }, keep: 300 }];

/** By the clock of Redis, in some centuries. */
const LATER = 1e13;
const onceMore = (id: string, delay = 0) => ({ queue: 'q', entries: [{ payload: payload(id), delay }] });

/** The jobs in the store and the reservations at the time of the call whose answer is lost. */
interface Scene {
  readonly connection: RedisConnection;
  /** Reserves `b` and `c`. `a` is delayed, `d` to `h` are ready, `old` has failed, one batch is open and another has ended. */
  readonly held: readonly Reservation[];
}

type Call = (scene: Scene) => Promise<unknown>;

const settleAll = (held: readonly Reservation[]) => {
  const [first, second] = held as [Reservation, Reservation];
  return [
    { outcome: 'released', reservation: first, delay: 300, counters: first.counters },
    {
      outcome: 'failed',
      reservation: second,
      counters: second.counters,
      failure: { id: 'c', name: 'Probe', exception: 'no' },
    },
  ] as const;
};

const laned = (id: string): Entry => {
  const ties = { lane: { key: 'a', running: 1, ordered: false } };
  return { payload: withTies(payload(id), ties), ties };
};

const calls: [script: string, what: string, call: Call][] = [
  ['push', 'jobs', ({ connection }) => connection.push('q', [{ payload: payload('x') }])],
  ['push', 'delayed jobs', ({ connection }) => connection.push('q', [{ payload: payload('x'), delay: 300 }])],
  ['push', 'jobs with a lane', ({ connection }) => connection.push('q', [laned('x'), laned('y')])],
  ['lane', 'a lane', ({ connection }) => connection.lanes.change('q', 'a', { limit: 2 })],
  ['lanes', 'the lanes of a queue', ({ connection }) => connection.lanes.list('q')],
  [
    'exchange',
    'a reservation',
    async ({ connection }) => textsOf((await reserveFrom(connection, request)).reservations),
  ],
  ['exchange', 'outcomes', ({ connection, held }) => settleIn(connection, settleAll(held))],
  [
    'exchange',
    'outcomes and a reservation',
    async ({ connection, held }) => {
      const { results, reply } = await connection.exchange(settleAll(held), request);
      return [results, textsOf(reply.reservations)];
    },
  ],
  [
    'exchange',
    'a promotion and two lost leases',
    async ({ connection }) => {
      world.offset = 1000;
      return textsOf((await reserveFrom(connection, { ...request, limit: 10 })).reservations);
    },
  ],
  ['renew', 'leases', ({ connection, held }) => connection.renew(held, 900)],
  ['counts', 'all jobs', ({ connection }) => connection.queues.counts('q')],
  ['clear', 'a queue', ({ connection }) => connection.queues.clear('q')],
  ['cancel', 'a ready job', ({ connection }) => connection.control.cancel('d', 'q')],
  ['cancel', 'a running job', ({ connection }) => connection.control.cancel('b', 'q')],
  ['reschedule', 'a delayed job', ({ connection }) => connection.control.reschedule('a', { delay: 900 }, 'q')],
  ['reschedule', 'a job that becomes ready', ({ connection }) => connection.control.reschedule('a', { delay: 0 }, 'q')],
  ['limit', 'a queue', ({ connection }) => connection.control.limit('q', 5)],
  ['pause', 'a queue', ({ connection }) => connection.control.pause('q')],
  ['resume', 'a queue', ({ connection }) => connection.control.resume('paused')],
  ['keep', 'a failed job', ({ connection }) => connection.failed.put(failed('x'))],
  [
    'retry',
    'a failed job',
    async ({ connection }) =>
      connection.failed.retry((await connection.failed.find('old'))[0]!, Buffer.from(payload('old'))),
  ],
  ['forget', 'a failed job', ({ connection }) => connection.failed.forget({ id: 'old', queue: 'default' })],
  ['sift', 'failed jobs', ({ connection }) => connection.failed.list({ limit: 10, search: { name: 'Old' } })],
  ['prune', 'failed jobs', ({ connection }) => connection.failed.prune({ keep: 0 })],
  ['lock-acquire', 'a lock', ({ connection }) => connection.locks.acquire('free', 'ours', 600)],
  ['lock-renew', 'a lock', ({ connection }) => connection.locks.renew('held', 'ours', 600)],
  ['lock-release', 'a lock', ({ connection }) => connection.locks.release('held', 'ours')],
  ['batch-hold', 'an open batch', ({ connection }) => connection.batches.hold('open')],
  ['batch-seal', 'an open batch', ({ connection }) => connection.batches.seal('open')],
  ['batch-cancel', 'a batch', ({ connection }) => connection.batches.cancel('open')],
  ['batch-prune', 'batches', ({ connection }) => connection.batches.prune({ olderThan: 0 })],
  ['batch-callbacks', 'a batch', ({ connection }) => connection.batches.callbacks('open')],
  ['push-once', 'a job', ({ connection }) => connection.keys.pushOnce(onceMore('x'), { key: 'new', until: LATER })],
  [
    'push-once',
    'a delayed job',
    ({ connection }) => connection.keys.pushOnce(onceMore('x', 300), { key: 'new', until: LATER }),
  ],
  [
    'push-once',
    'a job that was',
    ({ connection }) => connection.keys.pushOnce(onceMore('x'), { key: 'old', until: LATER }),
  ],
  ['peek', 'ready jobs', ({ connection }) => connection.queues.peek('q', 'ready', 10)],
  ['find', 'a job', ({ connection }) => connection.queues.find('d')],
  ['record-get', 'a record', ({ connection }) => connection.records.get('probe', 'kept')],
  ['record-list', 'records', ({ connection }) => connection.records.list('probe', { limit: 10 })],
  ['record-put', 'a record', ({ connection }) => connection.records.put([{ ...record, id: 'other' }], 300)],
  ['record-put', 'a record in the place of another', ({ connection }) => connection.records.replace(changed, '1', 300)],
  ['sum-add', 'sums', ({ connection }) => connection.records.add(sums, 'source', 2)],
  ['sum-read', 'sums', ({ connection }) => connection.records.sums(['m1'])],
  ['recount', 'all jobs', ({ connection }) => connection.keys.recount({ repair: true })],
  // Called before the first reserve and by the diagnosis.
  ['permitted', 'a user', async () => (await world.connect({ url: proxy.url }).diagnose()).at(-1)],
];

/** Sorted, because a repeat returns jobs in the order of the store. */
const textsOf = (reservations: readonly Reservation[]): string[] =>
  reservations.map(({ payload: text }) => String(text)).toSorted();

let world: RedisWorld;
let proxy: FaultyProxy;

beforeAll(async () => {
  world = await RedisWorld.start();
  proxy = await FaultyProxy.start(world.server.port);
});

afterAll(async () => {
  await world.closeConnections();
  await proxy.stop();
  await world.stop();
});

async function setUp(): Promise<Scene> {
  world.fresh();
  const connection = world.connect({ url: proxy.url });
  await connection.push('q', [{ payload: payload('a'), delay: 300 }]);
  await connection.push(
    'q',
    ['b', 'c', 'd', 'e', 'f'].map((id) => ({ payload: payload(id) })),
  );
  await connection.failed.put(failed('old'));
  await connection.locks.acquire('held', 'ours', 300);
  await connection.control.pause('paused');
  await connection.keys.pushOnce(onceMore('h'), { key: 'old', until: LATER });
  await connection.records.put([record], 300);
  await connection.records.add(sums, 'source', 1);
  const batch = { name: '', allowsFailures: false, callbacks: [] };
  await connection.push('q', [{ payload: payload('g') }], { ...batch, id: 'open', openFor: 600 });
  await connection.push('q', [], { ...batch, id: 'ended' });
  return { connection, held: (await reserveFrom(connection, request)).reservations };
}

/** The answer and everything in the store afterwards, with times to the minute and without the records for repeats. */
async function outcomeOf(call: Call, replies: number): Promise<unknown> {
  // Loads the scripts first, because the proxy does not recognise the call that loads one.
  await call(await setUp());
  const scene = await setUp();
  proxy.loseReplies(replies);
  const { prefix } = world;
  const start = Date.now() / 1000;
  const answer = await call(scene);
  const held = Object.entries(await keyspace(world.client, prefix)).filter(
    ([key]) => !/:(client|released|once):/.test(key),
  );
  const shown = JSON.stringify(held, (_, value: unknown) =>
    typeof value === 'number' && value > 1e9 ? Math.round((value - start) / 60) : value,
  );
  // The times of a batch are in a text, in microseconds.
  return { answer, held: shown.replaceAll(prefix, '').replaceAll(/\d{16}/g, 'moment') };
}

it.each(calls)('%s of %s is repeated and done once if its answer is lost', async (_script, _what, call) => {
  const undisturbed = await outcomeOf(call, 0);
  const { connections } = proxy;

  const disturbed = await outcomeOf(call, 2);

  expect(disturbed).toEqual(undisturbed);
  expect(proxy.connections).toBeGreaterThanOrEqual(connections + 2);
});

it('every script is tested here', () => {
  const files = readdirSync(join(__dirname, '../../../lua')).filter((file) => file.endsWith('.lua'));
  // Nobody waits for the answer of the one that removes what is left of pauses.
  const scripts = files.filter((file) => file !== 'tidy-pauses.lua');
  expect([...new Set(calls.map(([name]) => `${name}.lua`))].toSorted()).toEqual(scripts.toSorted());
});

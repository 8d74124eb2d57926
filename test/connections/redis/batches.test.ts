/** How a connection carries the events of batches. */
import { TestClock } from '../../../src/testing/test-clock';
import type { BatchCallback, NewBatch } from '../../../src/connections/batch-store';
import type { Entry, Reservation, Settlement } from '../../../src/connections/contract';
import type { RedisConnection } from '../../../src/connections/redis/connection';
import { withTies } from '../../../src/payload/ties';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { RedisWorld } from './open-redis';
import { reserveFrom, settleIn, waitOn } from '../../support/exchange';

const ID = 'batch-1';
const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const request = { queues: ['q'], limit: 10, lease: 600 };
const completed = (reservation: Reservation): Settlement => ({ outcome: 'completed', reservation });

const member = (id: string, weight = 1): Entry => {
  const ties = { batch: { id: ID, weight } };
  return { payload: withTies(payload(id), ties), ties };
};

const batch = (queue: string, openFor?: number): NewBatch => ({
  id: ID,
  name: 'images',
  allowsFailures: true,
  openFor,
  callbacks: (['then', 'catch', 'finally', 'next'] as const).map((on): BatchCallback => ({
    on,
    queue,
    head: '{"job":"told",',
    id: on,
  })),
});

const failed = (reservation: Reservation): Settlement => ({
  outcome: 'failed',
  reservation,
  counters: reservation.counters,
  failure: { id: 'b', name: 'Probe', exception: 'no' },
  cause: { id: 'b', name: 'Probe', message: 'no' },
});

describe('a batch on redis', () => {
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

  const told = async (): Promise<unknown[]> =>
    (await connection.queues.peek('told', 'ready', 100)).map(
      (job) => (JSON.parse(job.payload.toString()) as { id: unknown }).id,
    );

  it.each([1, 2, 3, 4, 5, 6, 7, 8])(
    'counts each job and sends each callback once, whichever reply is lost (%d)',
    async (lost) => {
      let number = 0;
      const call = <T>(act: () => Promise<T>): Promise<T> => {
        if (++number === lost) proxy.loseReplies(2);
        return act();
      };
      // Loads the scripts and connects, so that from here on only replies are lost.
      await connection.push('warm', [{ payload: payload('warm') }]);
      await reserveFrom(connection, { ...request, queues: ['warm'] });

      await call(() => connection.push('q', [member('a'), member('b')], batch('told', 60)));
      await call(() => connection.push('q', [member('c')]));
      expect(await call(() => connection.batches.seal(ID))).toBe(true);
      const { reservations } = await call(() => reserveFrom(connection, request));
      const [a, b, c] = reservations;
      await call(() => settleIn(connection, [completed(a!), failed(b!)]));
      const [entry] = await connection.failed.find('b');
      expect(await call(() => connection.failed.retry(entry!, Buffer.from(member('b').payload)))).toBe(true);
      const again = await call(() => connection.exchange([completed(c!)], request));
      expect(await call(() => settleIn(connection, again.reply.reservations.map(completed)))).toEqual(['settled']);

      expect(number).toBe(8);
      expect(await connection.batches.find(ID)).toMatchObject({ pending: 0, completed: 3, failed: 0, skipped: 0 });
      expect(await told()).toEqual(['catch', 'then', 'finally', 'next']);
    },
  );

  it.each(['cancel', 'seal'] as const)('repeats the lost answer of %s', async (name) => {
    await connection.push('q', [member('a')], batch('told', 60));
    await connection.batches.cancel('another');
    proxy.loseReplies();
    expect(await connection.batches[name](ID)).toBe(true);
    expect(await connection.batches[name](ID)).toBe(false);
  });

  it('is listed without reading the batches before it', async () => {
    const connection = world.connect();
    for (const id of ['first', 'second', 'third']) await connection.push('q', [], { ...batch('q'), id });
    await world.client.config('SET', 'slowlog-log-slower-than', '0');
    await world.client.slowlog('RESET');
    const listed = await connection.batches.list({ limit: 1, offset: 2 });
    const slow = (await world.client.slowlog('GET', 100)) as readonly [number, number, number, readonly string[]][];
    await world.client.config('SET', 'slowlog-log-slower-than', '10000');
    expect(listed.map(({ id }) => id)).toEqual(['first']);
    const [look] = slow.map(([, , , words]) => words).filter(([name]) => name === 'zrevrange');
    expect(look!.slice(2, 4)).toEqual(['2', '2']);
  });

  it('adds the queues of its callbacks to the known queues', async () => {
    await connection.push('q', [], batch('never pushed to'));
    expect(await connection.queues.names()).toEqual(['never pushed to', 'q']);
  });

  it('does not affect other pushes to its queue when it takes no more jobs', async () => {
    const pushes = await Promise.allSettled([
      connection.push('q', [{ payload: payload('a') }]),
      connection.push('q', [{ payload: payload('b') }]),
      connection.push('q', [member('c')]),
      connection.push('q', [{ payload: payload('d') }]),
    ]);
    expect(pushes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect((pushes[2] as PromiseRejectedResult).reason).toMatchObject({ code: 'E_BATCH_ENDED', facts: { batch: ID } });
    expect(await connection.queues.counts('q')).toMatchObject({ ready: 3 });
  });

  it('is pruned page by page', async () => {
    for (let at = 0; at < 130; at += 1) {
      await connection.push('q', [], { ...batch('told'), id: `finished-${at}`, callbacks: [] });
      await connection.push('q', [], { ...batch('told', 60), id: `open-${at}`, callbacks: [] });
    }
    world.offset = 100;
    expect(await connection.batches.prune({ olderThan: 50 })).toBe(130);
    expect(await connection.batches.prune({ olderThan: 50, unfinished: true })).toBe(130);
    expect(Object.keys(await world.keys()).filter((key) => key.includes('batches'))).toEqual([]);
  });

  it('holds the outcomes of its jobs while its key is a foreign one, names the key, and counts them once that is mended', async () => {
    await connection.push('q', [member('a')], batch('told'));
    const { reservations } = await reserveFrom(connection, request);
    const key = `${world.prefix}:batches`;
    await world.client.rename(key, 'kept');
    await world.client.set(key, 'nothing of ours');
    await expect(settleIn(connection, reservations.map(completed))).rejects.toMatchObject({
      code: 'E_REDIS_FOREIGN_KEY',
      facts: { key, type: 'string', expected: 'hash' },
    });
    await world.client.rename('kept', key);
    expect(await settleIn(connection, reservations.map(completed))).toEqual(['settled']);
    expect(await told()).toEqual(['then', 'finally', 'next']);
  });

  it('sends no callbacks if it cannot send all of them', async () => {
    const { callbacks, ...rest } = batch('told');
    await connection.push('q', [member('a')], { ...rest, callbacks: [...callbacks, ...batch('foreign').callbacks] });
    const { reservations } = await reserveFrom(connection, request);
    await world.client.set(`${world.prefix}foreign`, 'nothing of ours');
    await expect(settleIn(connection, reservations.map(completed))).rejects.toThrow('WRONGTYPE');
    expect(await told()).toEqual([]);
    expect(await connection.batches.find(ID)).toMatchObject({ pending: 1, completed: 0, finishedAt: undefined });
  });

  it('counts jobs with different weights and cancelled jobs that end in one call', async () => {
    await connection.push('q', [member('a'), member('b', 3), member('c', 2)], batch('told'));
    const [a, b, c] = (await reserveFrom(connection, request)).reservations;
    await settleIn(connection, [completed(a!), { outcome: 'cancelled', reservation: b! }, completed(c!)]);
    expect(await connection.batches.find(ID)).toMatchObject({ pending: 0, completed: 2, skipped: 3 });
  });

  it('wakes workers that wait for its callbacks', async () => {
    await connection.push('q', [member('a')], batch('told'));
    const { reservations } = await reserveFrom(connection, request);
    const other = world.connect({}, { clock: new TestClock() });
    await reserveFrom(other, { ...request, queues: ['told'] });
    const waiting = waitOn(other, ['told'], 60, new AbortController().signal);
    await settleIn(connection, reservations.map(completed));
    await waiting;
    expect((await reserveFrom(other, { ...request, queues: ['told'] })).reservations).toHaveLength(3);
  });
});

describe('a batch in a cluster', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.startCluster();
  });
  beforeEach(() => world.fresh());
  afterEach(() => world.closeConnections());
  afterAll(() => world.stop());

  it('is kept with its queue, is found with and without it, and sends its callbacks there', async () => {
    const connection = world.connect({ url: undefined, cluster: [world.url] });
    await connection.push('other', [{ payload: payload('x') }]);
    await connection.push('q', [member('a')], batch('q'));
    expect(await connection.batches.find(ID, 'other')).toBeUndefined();
    expect(await connection.batches.find(ID, 'q')).toMatchObject({ pending: 1 });
    expect(await connection.batches.find(ID)).toMatchObject({ pending: 1 });
    expect((await connection.batches.list({ limit: 10 })).map(({ id }) => id)).toEqual([ID]);
    expect((await connection.batches.callbacks(ID))?.callbacks).toMatchObject([{ on: 'then', queue: 'q' }, {}, {}, {}]);
    expect(await connection.batches.cancel(ID)).toBe(true);
    const { reservations } = await reserveFrom(connection, request);
    expect(reservations.map(({ cancelled }) => cancelled)).toEqual([true]);
    await settleIn(connection, [{ outcome: 'cancelled', reservation: reservations[0]! }]);
    const keys = Object.keys(await world.keys());
    expect(keys.filter((key) => key.includes('batches'))).toEqual(['{q}:batches', '{q}:batches:begun']);
    expect(await connection.queues.counts('q')).toMatchObject({ ready: 1 });
  });

  it('is refused if it would send callbacks to another slot', async () => {
    const connection = world.connect({ url: undefined, cluster: [world.url] });
    await expect(connection.push('q', [member('a')], batch('another'))).rejects.toThrow('CROSSSLOT');
    expect(await connection.queues.counts('q')).toMatchObject({ ready: 0 });
    expect(await connection.batches.find(ID, 'q')).toBeUndefined();
  });
});

/** Texts that are longer than Redis takes in an argument: it ends the connection that they come on, and with it the calls of others. */
import { silentLogger, type Logger } from '../../../src/base/logger';
import { builtInConnectors } from '../../../src/connections/built-in';
import { QueueManager } from '../../../src/application/queue-manager';
import type { Reservation } from '../../../src/connections/contract';
import { Job } from '../../../src/job/job';
import { Worker } from '../../../src/worker/worker';
import { RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { RedisWorld } from './open-redis';
import { reserveFrom, settleIn } from '../../support/exchange';

const MIB = 1024 * 1024;
const request = { queues: ['q'], limit: 10, lease: 600 };
const ran: string[] = [];

@Job({ name: 'Sized' })
class Sized extends Job {
  declare readonly size: string;
  handle(): void {
    ran.push(this.size);
  }
}

const text = (size: string, more = ''): string =>
  `{"job":"Sized","data":{"size":"${size}","more":"${more}"},"id":"${size}","attempts":0}`;
const short = (size: string) => ({ payload: text(size) });
const long = { payload: text('long', 'x'.repeat(1.5 * MIB)) };

describe('a text that is longer than redis takes', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  beforeEach(async () => {
    world.fresh();
    ran.length = 0;
    await limit('512mb');
  });

  afterEach(() => world.closeConnections());
  afterAll(() => world.stop());

  const limit = (size: string): Promise<unknown> => world.client.config('SET', 'proto-max-bulk-len', size);

  async function reserved(logger: Logger = silentLogger) {
    const connection = world.connect({}, { deadline: 600, logger });
    await connection.push('q', [short('a'), long, short('b')]);
    const reservations: Reservation[] = [];
    // A reply carries a megabyte at most.
    for (let calls = 0; calls < 3; calls += 1)
      reservations.push(...(await reserveFrom(connection, request)).reservations);
    await limit('1mb');
    return { connection, reservations };
  }

  it('leaves the job to its lease that is settled with others, and says why', async () => {
    const log = new RecordingLogger();
    const { connection, reservations } = await reserved(log);

    const results = await settleIn(
      connection,
      reservations.map((reservation) => ({ outcome: 'completed', reservation })),
    );

    expect(results).toEqual(['settled', 'lost', 'settled']);
    expect(await connection.queues.counts('q')).toEqual({ ready: 0, delayed: 0, reserved: 1 });
    expect(log.messages('error')).toEqual([
      expect.stringMatching(
        /ended the connection, three times running.*1,57\d,\d{3} bytes; an outcome was not written\. Raise/,
      ),
    ]);
  });

  it('is settled without holding up the reserve that travels with it', async () => {
    const { connection, reservations } = await reserved();
    await connection.push('q', [short('c')]);

    const { results, reply } = await connection.exchange(
      reservations
        .slice(1, 2)
        .map((reservation) => ({ outcome: 'released', delay: 0, reservation, counters: reservation.counters })),
      request,
    );
    const { reservations: next } = await reserveFrom(connection, request);

    expect([results, reply.nextIn, next.length]).toEqual([['lost'], 0, 1]);
  });

  it('has no lease that could be renewed, but those of others are', async () => {
    const { connection, reservations } = await reserved();

    expect(await connection.renew(reservations, 600)).toEqual(['renewed', 'lost', 'renewed']);
  });

  it('is refused if it is pushed, and others are pushed once each', async () => {
    const { connection } = await reserved();
    await connection.queues.clear('q');
    const others = ['c', 'd', 'e'].map((size) => connection.push('other', [short(size)]));

    await expect(connection.push('q', [long])).rejects.toMatchObject({ code: 'E_REDIS_CALL_LENGTH' });

    await Promise.all(others);
    await connection.push('q', [short('f')]);
    expect([await connection.queues.counts('other'), await connection.queues.counts('q')]).toMatchObject([
      { ready: 3 },
      { ready: 1 },
    ]);
  });

  it('is refused if it would be too long only with the counters of another try, also under a key', async () => {
    await limit('1mb');
    const connection = world.connect({}, { deadline: 600 });
    const filled = (bytes: number) => ({ payload: text('long', 'x'.repeat(bytes - text('long').length)) });
    const once = { key: 'k', until: Date.now() + 60_000 };

    await connection.push('q', [filled(MIB - 128)]);
    for (const bytes of [MIB - 127, MIB - 60, MIB])
      await expect(connection.push('q', [filled(bytes)])).rejects.toMatchObject({
        code: 'E_REDIS_CALL_LENGTH',
        facts: { consequence: expect.stringMatching(/not queued$/) as unknown },
      });
    await expect(connection.keys.pushOnce({ queue: 'q', entries: [filled(MIB - 60)] }, once)).rejects.toMatchObject({
      code: 'E_REDIS_CALL_LENGTH',
    });
    await limit('2mb');
    await connection.push('q', [filled(MIB)]);

    const { reservations } = await reserveFrom(connection, request);
    expect(reservations.map(({ payload }) => payload.length)).toEqual([MIB - 128]);
    expect(await connection.queues.counts('q')).toMatchObject({ ready: 1, reserved: 1 });
  });

  it('is asked about again when the connection was made anew, as another server may take less', async () => {
    const connection = world.connect({}, { deadline: 600 });
    await connection.push('q', [long]);
    await limit(String(long.payload.length + 60));
    await world.client.call('CLIENT', 'KILL', 'TYPE', 'normal');
    await connection.queues.counts('q');

    await expect(connection.push('q', [long])).rejects.toMatchObject({ code: 'E_REDIS_CALL_LENGTH' });
    expect(await connection.queues.counts('q')).toMatchObject({ ready: 1 });
  });

  it('is pushed before what was dispatched after it, and so is one that redis refuses', async () => {
    const connection = world.connect({}, { deadline: 600 });
    const ids = async () =>
      (await world.client.lrange(`${world.prefix}q`, 0, -1)).map((job) => JSON.parse(job).id as string);

    await Promise.all([short('a'), long, short('b')].map((entry) => connection.push('q', [entry])));
    expect(await ids()).toEqual(['a', 'long', 'b']);

    await limit('1mb');
    const longer = { payload: text('longer', 'x'.repeat(1.6 * MIB)) };
    const full = Array.from({ length: 100 }, (_, place) => short(`full ${place}`));
    const [refused] = await Promise.allSettled(
      [[longer], full, [short('c')]].map((page) => connection.push('q', page)),
    );

    expect(refused).toMatchObject({ reason: { code: 'E_REDIS_CALL_LENGTH' } });
    expect((await ids()).slice(3)).toEqual(
      [...full, short('c')].map(({ payload }) => JSON.parse(payload).id as string),
    );
  });

  it('holds up no other job of its worker', async () => {
    const log = new RecordingLogger();
    const redis = { driver: 'redis', url: world.url, prefix: world.prefix, retryAfter: '60s' } as const;
    const manager = new QueueManager(
      { connectors: builtInConnectors, logger: log },
      { connections: { redis }, jobs: [Sized] },
    );
    await world.connect().push('q', [short('a'), long, short('b')]);
    await limit('1mb');
    const worker = new Worker({ queue: 'q', concurrency: 2 }, manager);
    const run = worker.run();
    await eventually(() => ran.includes('b') && log.messages('error').length > 0, { of: 'a job that was left out' });

    await world.connect().push('q', ['c', 'd', 'e'].map(short));
    await eventually(() => ran.length === 6, { of: 'jobs behind it' });
    void worker.stop();
    await run;

    expect(ran.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'long']);
    expect(log.messages('error')).toHaveLength(1);
    expect(await world.connect().queues.counts('q')).toEqual({ ready: 0, delayed: 0, reserved: 1 });
    await manager.close();
  });
});

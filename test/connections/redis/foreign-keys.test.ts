import type { RedisConnection } from '../../../src/connections/redis/connection';
import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import { Job } from '../../../src/job/job';
import { QueueManager } from '../../../src/application/queue-manager';
import { Worker } from '../../../src/worker/worker';
import { RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { RedisWorld } from './open-redis';
import { reserveFrom, settleIn } from '../../support/exchange';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const request = { queues: ['q'], limit: 10, lease: 600 };

const toPush = { queue: 'q', entries: [{ payload: payload('a') }] };

const ran: string[] = [];

@Job()
class Noted extends Job {
  constructor(readonly note: string) {
    super();
  }
  handle(): void {
    ran.push(this.note);
  }
}

describe('a foreign key in place of one of ours', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });
  beforeEach(() => {
    world.fresh();
    ran.length = 0;
  });
  afterEach(() => world.closeConnections());
  afterAll(() => world.stop());

  it('is named in the error of a reserve from its queue alone', async () => {
    await world.client.set(`${world.prefix}q:delayed`, 'not ours');
    await expect(reserveFrom(world.connect(), request)).rejects.toMatchObject({
      code: 'E_REDIS_FOREIGN_KEY',
      facts: { key: `${world.prefix}q:delayed`, type: 'string', expected: 'zset' },
    });
  });

  it('in the place of the orders is named, and nothing is reserved', async () => {
    const connection = world.connect();
    await connection.push('q', [{ payload: payload('a') }]);
    await world.client.set(`${world.prefix}:control`, 'not ours');
    await expect(reserveFrom(connection, request)).rejects.toMatchObject({ facts: { key: `${world.prefix}:control` } });
    expect(await connection.queues.counts('q')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });

  it.each<[name: string, expected: string, call: (connection: RedisConnection) => Promise<unknown>]>([
    ['records:probe', 'hash', ({ records }) => records.put([{ kind: 'probe', id: 'a', value: '1' }], 60)],
    ['records:probe:ends', 'zset', ({ records }) => records.list('probe', { limit: 1 })],
    ['sums:m1', 'hash', ({ records }) => records.sums(['m1'])],
    ['added:one', 'string', ({ records }) => records.add([], 'one', 1)],
    ['once:k', 'string', (connection) => connection.keys.pushOnce(toPush, { key: 'k', until: 1e13 })],
  ])('in the place of %s is named', async (name, expected, call) => {
    const key = `${world.prefix}:${name}`;
    await world.client.rpush(key, 'not ours');
    const error = { code: 'E_REDIS_FOREIGN_KEY', facts: { key, type: 'list', expected } };
    await expect(call(world.connect())).rejects.toMatchObject(error);
  });

  it('is reported in the words of Redis if the user may not ask for types', async () => {
    await world.client.acl('SETUSER', 'worker', 'on', '>secret', '~*', '+@all', '-type');
    await world.client.set(`${world.prefix}q`, 'not ours');
    const user = { username: 'worker', password: 'secret', url: undefined, port: world.server.port };
    await expect(reserveFrom(world.connect(user), request)).rejects.toMatchObject({
      code: 'E_REDIS_REPLY',
      facts: { reply: expect.stringContaining('WRONGTYPE') as string, consequence: 'no jobs were reserved' },
    });
  });

  it('does not affect other queues of a worker, is logged once, and its queue is used again when it is gone', async () => {
    const logger = new RecordingLogger();
    const store = { driver: 'redis', url: world.url, prefix: world.prefix } as const;
    const manager = new QueueManager({ connectors: builtInConnectors, logger }, { connections: { store } });
    const bus = new JobBus(() => manager);
    const foreign = `${world.prefix}second`;
    await world.client.set(foreign, 'not ours');
    const worker = new Worker({ queue: ['first', 'second', 'third'], concurrency: 2 }, manager);
    const stopped = worker.run();

    for (const queue of ['first', 'third', 'first', 'third']) await bus.dispatch(new Noted(queue)).onQueue(queue);
    await eventually(() => ran.length === 4);
    await world.client.del(foreign);
    await bus.dispatch(new Noted('second')).onQueue('second');
    await eventually(() => ran.includes('second'));
    await worker.stop();
    await stopped;
    await manager.close();

    expect(logger.lines.filter(({ level }) => level === 'error')).toEqual([
      expect.objectContaining({
        facts: expect.objectContaining({ queue: 'second', key: foreign, type: 'string' }) as object,
        message: expect.stringContaining(`The key '${foreign}'`) as string,
      }),
    ]);
  });

  it('in the place of the names of queues does not hold up outcomes, and is named once', async () => {
    const logger = new RecordingLogger();
    const names = `${world.prefix}:queues`;
    await world.client.set(names, 'not ours');
    const connection = world.connect({}, { logger });
    await connection.push(
      'q',
      ['a', 'b', 'c'].map((id) => ({ payload: payload(id) })),
    );
    const { reservations } = await reserveFrom(connection, request);
    const settlements = reservations.map((reservation, at) => ({
      outcome: 'failed' as const,
      reservation,
      counters: reservation.counters,
      failure: { id: `id-${at}`, name: 'probe', exception: 'no' },
    }));

    expect(await settleIn(connection, settlements)).toEqual(['settled', 'settled', 'settled']);
    await connection.failed.put({
      ...{ id: 'other', name: 'probe', exception: 'no', connection: 'x', queue: 'q', attempts: 1 },
      payload: Buffer.from(payload('other')),
    });
    expect(await connection.failed.count('q')).toBe(4);
    await expect(connection.queues.names()).rejects.toMatchObject({
      code: 'E_REDIS_FOREIGN_KEY',
      facts: { key: names },
    });
    expect(logger.messages('error')).toEqual([expect.stringContaining(`The key '${names}' of Redis`)]);
  });

  it('holds up only the outcomes that would be written to it', async () => {
    const connection = world.connect();
    await connection.push(
      'q',
      ['a', 'b'].map((id) => ({ payload: payload(id) })),
    );
    const [a, b] = (await reserveFrom(connection, request)).reservations;
    await world.client.set(`${world.prefix}q:delayed`, 'not ours');

    const release = { outcome: 'released', reservation: a!, delay: 60, counters: a!.counters } as const;
    const completion = { outcome: 'completed', reservation: b! } as const;
    const refused = { code: 'E_REDIS_FOREIGN_KEY', facts: { key: `${world.prefix}q:delayed` } };

    await expect(settleIn(connection, [release, completion])).rejects.toMatchObject(refused);
    expect(await settleIn(connection, [completion])).toEqual(['settled']);
    await expect(settleIn(connection, [release])).rejects.toMatchObject(refused);
    await world.client.del(`${world.prefix}q:delayed`);
    expect(await settleIn(connection, [release])).toEqual(['settled']);
  });

  it('does not affect reserves that send nothing to it', async () => {
    const connection = world.connect();
    await connection.push(
      'q',
      ['a', 'b'].map((id) => ({ payload: payload(id) })),
    );
    const [a] = (await reserveFrom(connection, { ...request, limit: 1 })).reservations;
    await world.client.set(`${world.prefix}q:failed`, 'not ours');
    const failure = { id: 'a', name: 'probe', exception: 'no' };

    const [settled, reserved] = await Promise.allSettled([
      settleIn(connection, [{ outcome: 'failed', reservation: a!, counters: a!.counters, failure }]),
      reserveFrom(connection, request),
    ]);
    const later = await reserveFrom(connection, request);

    expect([settled.status, reserved.status]).toEqual(['rejected', 'fulfilled']);
    const { reservations } = (reserved as PromiseFulfilledResult<typeof later>).value;
    expect([...reservations, ...later.reservations]).toHaveLength(1);
  });
});

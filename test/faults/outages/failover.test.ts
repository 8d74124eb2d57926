import type { QueueUnavailableError } from '../../../src/connections/errors';
import Redis from 'ioredis';
import { connectRedis, type RedisConnection } from '../../../src/connections/redis/connection';
import { systemClock } from '../../../src/base/clock';
import { silent } from '../../connections/redis/open-redis';
import { eventually } from '../../support/eventually';
import { startRedisServer, type RedisServer } from '../../support/redis-server';
import { FaultyProxy } from '../kit/faulty-proxy';
import { meantToPass } from '../../support/meant-to-pass';
import { NO_FAULTS, OutageApplication } from './application';
import { reserveFrom } from '../../support/exchange';

let master: RedisServer;
let replica: RedisServer;
let admin: Redis;
/** The address that leads to the current master. */
let proxy: FaultyProxy;
let application: OutageApplication | undefined;
let connection: RedisConnection | undefined;
/** The errors that the connection has logged. */
let said: string[];

beforeEach(async () => {
  application = connection = undefined;
  said = [];
  master = await startRedisServer({ args: ['--repl-diskless-sync-delay', '0'] });
  replica = await startRedisServer({ args: ['--replicaof', '127.0.0.1', String(master.port)] });
  admin = new Redis(replica.url, { protocol: 2 });
  proxy = await FaultyProxy.start(master.port);
  await eventually(async () => (await admin.info('replication')).includes('master_link_status:up'));
});

afterEach(async () => {
  admin.disconnect();
  await application?.close();
  await connection?.close();
  await proxy.stop();
  await Promise.all([master.stop(), replica.stop()]);
});

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const request = { queues: ['q'], limit: 10, lease: 600 };

/** Queues a job and loads the scripts. */
async function openConnection(): Promise<void> {
  const logger = { ...silent, error: (_: unknown, message: string) => void said.push(message) };
  const context = { name: 'redis', clock: systemClock, logger, deadline: meantToPass(0.5) };
  connection = connectRedis({ driver: 'redis', url: proxy.url }, context);
  await connection.push('q', [{ payload: payload('a') }]);
  await reserveFrom(connection, { ...request, queues: ['none'] });
}

const promote = (): Promise<unknown> => admin.replicaof('NO', 'ONE');

async function offsetOf({ url }: RedisServer): Promise<string | undefined> {
  const client = new Redis(url, { protocol: 2 });
  const info = await client.info('replication');
  client.disconnect();
  return /master_repl_offset:(\d+)/.exec(info)?.[1];
}

/** Makes the address lead to a server that is still a replica. */
function failOver(): void {
  proxy.retarget(replica.port);
  proxy.cut();
}

it('a replica refuses dispatches with the remedy, and work continues when it is promoted', async () => {
  application = new OutageApplication({ url: proxy.url });
  await application.works();
  failOver();
  // The first dispatches may still be sent on connections that have just ended, so that only their answers may be lost.
  const failure = await eventually(async () => {
    const error = (await application!.dispatch()) as QueueUnavailableError | undefined;
    return error?.facts.uncertain === false ? error : undefined;
  });
  await eventually(() => application!.said.length > 0);

  await promote();

  await application.works();
  expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { refused: true, uncertain: false } });
  expect(failure?.message).toContain('address of its master');
  expect(application.faults).toEqual(NO_FAULTS);
  expect(application.said).toEqual([expect.stringContaining('READONLY'), expect.stringContaining('answers again')]);
});

it('dispatches during a failover wait for the new master within their deadlines, and none is lost', async () => {
  application = new OutageApplication({ url: proxy.url, deadline: '60s' });
  application.startTraffic();
  await application.progress();
  const { connections } = proxy;

  failOver();
  await eventually(() => proxy.connections > connections + 4, { of: 'further attempts to connect' });
  // Anything that the old master confirmed but did not replicate would be lost, as always with Redis.
  await eventually(async () => (await offsetOf(replica)) === (await offsetOf(master)), {
    of: 'a replica that has all',
  });
  await promote();

  await application.progress();
  await application.settled();
  expect(application.faults).toEqual(NO_FAULTS);
});

it('a replica can answer a reserve whose answer the failover cut off, because it has the record', async () => {
  await openConnection();
  proxy.retarget(replica.port);
  proxy.loseReplies();

  expect((await reserveFrom(connection!, request)).reservations).toHaveLength(1);
});

it('a dispatcher says so if the master that takes over lacks a job that was confirmed', async () => {
  await openConnection();
  await eventually(async () => (await offsetOf(replica)) === (await offsetOf(master)));
  await promote();
  await connection!.push('q', [{ payload: payload('lost') }]);
  failOver();

  await eventually(() => connection!.push('q', [{ payload: payload('b') }]).then(() => true));
  await connection!.push('q', [{ payload: payload('c') }]);

  expect(said).toEqual([expect.stringContaining('has lost data that it had confirmed')]);
  expect(await connection!.queues.names()).toEqual(['q']);
});

describe('a call that was carried out but repeated on a read-only server without its record', () => {
  let other: RedisServer;

  beforeEach(async () => {
    other = await startRedisServer({ args: ['--min-replicas-to-write', '1'] });
    await openConnection();
    proxy.retarget(other.port);
    proxy.loseReplies();
  });

  afterEach(() => other.stop());

  it('is not reported as certainly not done if it is a push', async () => {
    const pushed = connection!.push('q', [{ payload: payload('b') }]);
    await expect(pushed).rejects.toMatchObject({ facts: { refused: true, uncertain: true } });
    await expect(pushed).rejects.toThrow('unless only its answer was lost');
  });

  it('is repeated until the right server answers if it is a reserve', async () => {
    const { connections } = proxy;
    const reserved = reserveFrom(connection!, request);
    await eventually(() => proxy.connections > connections);
    proxy.retarget(master.port);
    proxy.cut();
    expect((await reserved).reservations).toHaveLength(1);
  });
});

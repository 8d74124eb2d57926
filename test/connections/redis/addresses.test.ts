import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Redis from 'ioredis';
import { clientSource } from '../../../src/connections/redis/client';
import { open, type RedisConnection, type ThreadData } from '../../../src/connections/redis/connection';
import type { RedisConfig } from '../../../src/connections/redis/driver';
import { TestClock } from '../../../src/testing/test-clock';
import { makeCertificates, type Certificates } from '../../support/certificates';
import { eventually } from '../../support/eventually';
import { meantToPass } from '../../support/meant-to-pass';
import { freePort } from '../../support/redis-server';
import { RedisWorld } from './open-redis';
import { reserveFrom, settleIn, waitOn } from '../../support/exchange';

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const request = { queues: ['q'], limit: 10, lease: 600 };

let world: RedisWorld;

/** Its clock never moves, so that a wait ends only by a wake-up. */
const STILL = { clock: new TestClock() };

/** What a push fails with at its deadline. */
const failureOf = (connection: RedisConnection): Promise<string> =>
  connection.push('q', [{ payload: payload('a') }]).then(() => 'nothing failed', String);

/** Pushes a job, wakes a waiter with it, and runs it. Returns the results of its settlement. */
async function works(connection: RedisConnection): Promise<unknown> {
  const woken = waitOn(connection, ['q'], 2, new AbortController().signal);
  await connection.push('q', [{ payload: payload('a') }]);
  await woken;
  const { reservations } = await reserveFrom(connection, request);
  return settleIn(
    connection,
    reservations.map((reservation) => ({ outcome: 'completed', reservation })),
  );
}

describe('a redis connection', () => {
  let folder: string;
  let socket: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'onqueue-socket-'));
    socket = join(folder, 'redis.sock');
    world = await RedisWorld.start(['--unixsocket', socket]);
    await world.client.acl('SETUSER', 'worker', 'on', '>s3cret/@', '~*', '+@all');
  });

  beforeEach(() => world.fresh());
  afterEach(() => world.closeConnections());

  afterAll(async () => {
    await world.stop();
    await rm(folder, { recursive: true });
  });

  const port = (): number => world.server.port;

  it.each<[string, () => Partial<RedisConfig>]>([
    ['through a Unix socket', () => ({ url: undefined, path: socket })],
    [
      'as a user, by separate fields',
      () => ({ url: undefined, port: port(), username: 'worker', password: 's3cret/@' }),
    ],
    ['as a user, by an address', () => ({ url: `redis://worker:s3cret%2F%40@127.0.0.1:${port()}` })],
  ])('works %s', async (_, config) => {
    expect(await works(world.connect(config(), STILL))).toEqual(['settled']);
  });

  it.each<[string, () => Partial<RedisConfig>]>([
    ['by an address', () => ({ url: `redis://127.0.0.1:${port()}/3` })],
    ['by parts', () => ({ url: undefined, port: port(), db: 3 })],
    ['by a client', () => ({ url: undefined, client: new Redis({ port: port(), db: 3, lazyConnect: true }) })],
  ])('keeps its jobs in the database given %s, and in no other', async (_, config) => {
    const connection = world.connect(config());
    await connection.push('q', [{ payload: payload('a') }]);
    const other = new Redis(port(), { db: 3 });
    expect(await other.llen(`${world.prefix}q`)).toBe(1);
    expect(await world.keys()).toEqual({});
    expect(await world.connect().queues.counts('q')).toMatchObject({ ready: 0 });
    other.disconnect();
  });
});

describe('a redis connection over TLS', () => {
  let certificates: Certificates;
  let secure: number;
  let tls: { readonly ca: Buffer };

  /** Arguments for a server that also listens for TLS on the port `secure`. */
  const listening = async (...clients: readonly string[]): Promise<readonly string[]> => {
    secure = await freePort();
    const { authority, certificate, key } = certificates;
    return [
      ...['--tls-port', String(secure), '--tls-ca-cert-file', authority, '--tls-cert-file', certificate],
      ...['--tls-key-file', key, '--tls-auth-clients', ...clients],
    ];
  };

  beforeAll(async () => {
    certificates = await makeCertificates();
    tls = { ca: certificates.ca };
  });

  afterEach(() => world.stop());
  afterAll(() => certificates.remove());

  it('works with a certificate authority of its own, even from another thread', async () => {
    world = await RedisWorld.start(await listening('no'));
    const connection = world.connect({ url: `rediss://localhost:${secure}/0`, tls }, { ...STILL, offset: undefined });
    expect(await works(connection)).toEqual(['settled']);
    await connection.push('q', [{ payload: payload('b') }]);
    const { reservations } = await reserveFrom(connection, request);
    const thread = open(structuredClone(connection.threadAccess!.data) as ThreadData, 2);
    expect(await thread.renew(reservations, 60)).toEqual(['renewed']);
    await thread.close();
  });

  it('shows a certificate if the server wants one', async () => {
    world = await RedisWorld.start(await listening('yes'));
    const own = { key: await readFile(certificates.key), cert: await readFile(certificates.certificate) };
    expect(await works(world.connect({ url: undefined, port: secure, tls: { ...tls, ...own } }, STILL))).toEqual([
      'settled',
    ]);
  });

  it.each(['rediss://localhost', 'rediss://127.0.0.1'])(
    'refuses an untrusted certificate of %s and says why',
    async (host) => {
      world = await RedisWorld.start(await listening('no'));
      const connection = world.connect({ url: `${host}:${secure}` }, { deadline: meantToPass(1) });
      await eventually(async () => (await failureOf(connection)).includes('certificate'));
    },
  );

  it('reaches all nodes of a cluster with TLS, by the name in their certificate', async () => {
    world = await RedisWorld.startCluster(await listening('no', '--tls-cluster', 'yes'));
    expect(
      await works(world.connect({ url: undefined, cluster: [`rediss://localhost:${secure}`], tls }, STILL)),
    ).toEqual(['settled']);
  });

  it('says why it does not trust a cluster', async () => {
    world = await RedisWorld.startCluster(await listening('no', '--tls-cluster', 'yes'));
    const connection = world.connect(
      { url: undefined, cluster: [`rediss://localhost:${secure}`] },
      { deadline: meantToPass(1) },
    );
    await eventually(async () => (await failureOf(connection)).includes('certificate'));
  });
});

it('uses TLS for sentinels and their master alike, or for neither', () => {
  const sentinels = [{ host: 'a' }];
  const { options } = clientSource({ driver: 'redis', sentinels, name: 'main', tls: true }).template;
  expect(options).toMatchObject({ tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true });
});

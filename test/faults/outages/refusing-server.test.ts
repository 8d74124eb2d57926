import Redis from 'ioredis';
import { eventually } from '../../support/eventually';
import { type RedisServer, startRedisServer } from '../../support/redis-server';
import { NO_FAULTS, OutageApplication } from './application';
import { loading, ofVersion, StandInServer } from './stand-in-server';
import { reserveFrom } from '../../support/exchange';

let redis: RedisServer;
let admin: Redis;
let application: OutageApplication;
/** Other things that a test starts. */
let others: { stop(): Promise<void> }[] = [];

async function beside<T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> {
  const other = await starting;
  others.push(other);
  return other;
}

async function open(args: readonly string[] = [], url?: (server: RedisServer) => string): Promise<void> {
  redis = await startRedisServer({ args });
  admin = new Redis(redis.url, { protocol: 2 });
  application = new OutageApplication({ url: url?.(redis) ?? redis.url });
}

afterEach(async () => {
  admin.disconnect();
  await application.close();
  await Promise.all(others.map((other) => other.stop()));
  others = [];
  await redis.stop();
});

const told = (words: string): Promise<unknown> =>
  eventually(() => application.said.some((line) => line.startsWith('error: ') && line.includes(words)), {
    of: `a line with ${words}`,
  });

/** The two lines about an outage: one for its start, one for its end. */
const toldOnce = (words: string): void =>
  expect(application.said).toEqual([expect.stringContaining(words), expect.stringContaining('answers again')]);

it('a master without enough replicas accepts no jobs, and runs the waiting ones when they are back', async () => {
  await open();
  await application.works();
  await admin.config('SET', 'min-replicas-to-write', '1');
  const failure = await application.dispatch();
  await told('NOREPLICAS');

  await admin.config('SET', 'min-replicas-to-write', '0');

  await application.works();
  expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { refused: true } });
  toldOnce('NOREPLICAS');
});

it.each([
  ['completes', 'Held completed'],
  ['fails', 'HeldToFail failed'],
] as const)('a redis that is full takes no jobs, but the outcome of one that %s', async (end, line) => {
  await open();
  await application.hold(end);
  await admin.config('SET', 'maxmemory', '1');
  const failure = await application.dispatch();

  application.letGo();

  await eventually(() => application.log.lines.some(({ message }) => message.startsWith(line)));
  expect(failure?.message).toMatch(/refused \(OOM .* was not queued\. Raise maxmemory, or make room\.$/);
  await admin.config('SET', 'maxmemory', '0');
  await application.works();
  expect(application.faults).toEqual(NO_FAULTS);
});

it('running jobs keep their leases on a full redis', async () => {
  await open();
  const connection = application.driver;
  await connection.push('other', [{ payload: '{"job":"probe","data":{},"id":"a","attempts":0}' }]);
  const { reservations } = await reserveFrom(connection, { queues: ['other'], limit: 1, lease: 60 });
  await admin.config('SET', 'maxmemory', '1');

  expect(await connection.renew!(reservations, 60)).toEqual(['renewed']);
});

it('an endless foreign script is waited for and named', async () => {
  await open(['--busy-reply-threshold', '50']);
  await application.works();
  const endless = admin.eval('while true do end', 0).catch((error: Error) => error.message);
  const killer = new Redis(redis.url, { protocol: 2, enableReadyCheck: false });

  const failure = await application.dispatch();
  await told('BUSY');
  await killer.script('KILL');

  await application.works();
  killer.disconnect();
  expect(await endless).toContain('killed');
  expect(failure?.message).toContain('SCRIPT KILL');
  expect(application.faults).toEqual(NO_FAULTS);
});

it('a changed password is reported with the remedy, and works again when it is changed back', async () => {
  await open(['--requirepass', 'old'], ({ port }) => `redis://:old@127.0.0.1:${port}/0`);
  admin.disconnect();
  admin = new Redis(redis.url, { password: 'old', protocol: 2 });
  await application.works();
  await admin.config('SET', 'requirepass', 'brandnew');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  // The first dispatch may still be sent on a connection that has just ended.
  await application.dispatch();
  const failure = await application.dispatch();
  await told('WRONGPASS');

  await admin.config('SET', 'requirepass', 'old');

  await application.works();
  expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { refused: true, uncertain: false } });
  expect(failure?.message).toContain('Check the user and the password.');
  expect([...application.said, failure?.message].join()).not.toMatch(/\bold\b|brandnew/);
  expect(application.faults).toEqual(NO_FAULTS);
  toldOnce('WRONGPASS');
});

it('a user that loses the permission to run scripts gets an error that names it', async () => {
  await open();
  await application.works();
  await admin.call('ACL', 'SETUSER', 'default', '-evalsha', '-eval');
  const failure = await application.dispatch();
  await told('NOPERM');

  await admin.call('ACL', 'SETUSER', 'default', '+@all');

  await application.works();
  expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { refused: true, uncertain: false } });
  expect(failure?.message).toContain('ACL SETUSER');
  toldOnce('NOPERM');
});

it('a redis that is loading its data is waited for, logged as loading, and used afterwards', async () => {
  await open();
  const server = await beside(StandInServer.start(redis.port, loading));
  await application.close();
  application = new OutageApplication({ url: server.url });
  const failure = await application.dispatch();
  await told('LOADING');

  server.done();

  await application.works();
  expect(failure).toMatchObject({
    code: 'E_QUEUE_UNAVAILABLE',
    facts: { refused: true, uncertain: false },
  });
  expect(failure?.message).toMatch(/refused \(LOADING .*It still reads its data/);
  toldOnce('LOADING');
});

it.each(['2.8.24', '5.0.14', '6.0.16'])('a redis %s is told to be too old, and asked for nothing', async (version) => {
  await open();
  const server = await beside(StandInServer.start(redis.port, ofVersion(version)));
  await application.close();
  application = new OutageApplication({ url: server.url });

  const failure = await application.dispatch();
  await told(`Redis ${version}`);

  expect(failure).toMatchObject({
    code: 'E_REDIS_VERSION',
    facts: { found: `Redis ${version}`, needed: 'Redis 6.2', consequence: 'Step was not queued' },
    message: expect.stringContaining('Install Redis 6.2 or newer, or Valkey.') as string,
  });
  await expect(application.driver.diagnose()).rejects.toMatchObject({ code: 'E_REDIS_VERSION' });
  expect(new Set(server.asked)).toEqual(new Set(['info']));
  server.done();
  await application.works();
  toldOnce(`Redis ${version}`);
});

it.each(['6.2.0', '7.0.15', '10.1.0', ''])('a redis that says to be %s is asked', async (version) => {
  await open();
  const server = await beside(StandInServer.start(redis.port, ofVersion(version)));
  await application.close();
  application = new OutageApplication({ url: server.url });

  const failure = await application.dispatch();

  expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { refused: true } });
  expect(server.asked).toContain('evalsha');
});

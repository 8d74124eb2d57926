import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCRIPTED } from '../../../src/connections/redis/caller';
import type { Logger } from '../../../src/base/logger';
import { builtInConnectors } from '../../../src/connections/built-in';
import { Job } from '../../../src/job/job';
import { QueueManager } from '../../../src/application/queue-manager';
import { Worker } from '../../../src/worker/worker';
import { RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { RedisWorld, silent } from './open-redis';
import { reserveFrom, waitOn } from '../../support/exchange';

const LUA = join(__dirname, '../../../lua');

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
/** The ids of jobs that completed or failed. */
const ended = new Set<string>();

@Job({ name: 'Ended', tries: 3 })
class Ended extends Job {
  declare readonly end: number;
  handle(): void {
    const { job } = this;
    if (this.end === 1 && job.attempts === 1) return this.release(0);
    if (this.end === 2 && job.attempts === 1) return this.release('50ms');
    ended.add(job.id);
    if (this.end === 3) this.fail('as it is to end');
  }
}

const request = { queues: ['q'], limit: 10, lease: 600 };

it('the list of required commands contains exactly the commands of the scripts', () => {
  const scripts = readdirSync(LUA, { encoding: 'utf8', recursive: true }).filter((file) => file.endsWith('.lua'));
  const texts = scripts.map((file) => readFileSync(join(LUA, file), 'utf8')).join('\n');
  const called = [...texts.matchAll(/\bp?call\('(\w+)'/g)].map(([, name]) => name!.toLowerCase());
  // The scripts do without `publish` if it is not allowed.
  expect([...SCRIPTED, 'publish'].toSorted()).toEqual([...new Set(called)].toSorted());
});

describe('a redis connection whose user lacks permissions', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start();
  });

  beforeEach(async () => {
    world.fresh();
    await world.client.acl('SETUSER', 'worker', 'on', '>secret', '~*', '+@all');
    await world.connect().push('q', [{ payload: payload('a') }]);
  });

  afterEach(() => world.closeConnections());
  afterAll(() => world.stop());

  const may = (...rules: string[]): Promise<unknown> => world.client.acl('SETUSER', 'worker', ...rules);
  const connect = (logger: Logger = silent) =>
    world.connect({ username: 'worker', password: 'secret', url: undefined, port: world.server.port }, { logger });

  it('reserves nothing if a script would stop half way, names the missing permissions, and continues when they are given', async () => {
    await may('-hset', '-zadd');
    const connection = connect();
    const refused = reserveFrom(connection, request);
    await expect(refused).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { refused: true } });
    await expect(refused).rejects.toThrow(/NOPERM this user may not call hset, zadd.*no jobs were reserved/);
    // Permissions are checked again for each refused call.
    expect(await connection.queues.counts('q')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    await may('+hset', '+zadd');
    expect((await reserveFrom(connection, request)).reservations).toHaveLength(1);
  });

  it('reports a script that was refused half way as a lack of permission', async () => {
    await may('-rpush');
    await expect(connect().push('q', [{ payload: payload('b') }])).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      message: expect.stringContaining('with ACL SETUSER') as string,
    });
  });

  it('logs once that waiting for jobs is not allowed', async () => {
    await may('-blpop');
    const said: string[] = [];
    const connection = connect({ ...silent, warn: (_, message) => said.push(message) });
    const wait = (): Promise<unknown> => waitOn(connection, ['q'], 0.05);
    await eventually(() => wait().then(() => said.length > 0), { of: 'a word about it' });
    await wait();
    expect(said).toEqual([expect.stringMatching(/does not let us wait.*blpop.*every 2 s/)]);
  });

  it('gets an error that names the first key that it may not use', async () => {
    await may('resetkeys', `~${world.prefix}q*`);
    const named = (key: string): object => ({
      code: 'E_QUEUE_UNAVAILABLE',
      facts: { refused: true },
      message: expect.stringContaining(`NOPERM this user may not use the key '${world.prefix}${key}'`) as string,
    });
    await expect(connect().push('q', [{ payload: payload('b') }])).rejects.toMatchObject(named(':unique'));
    await expect(reserveFrom(connect(), request)).rejects.toMatchObject(named(':control'));
    await expect(connect().queues.names()).rejects.toMatchObject(named(':queues'));
  });

  it.each([
    ['of single queues', '[a-z]*', ':queues'],
    ['that all queues share', ':*', 'default'],
  ])('is diagnosed with the keys to open if it may use only those %s', async (_whose, pattern, closed) => {
    await may('resetkeys', `~${world.prefix}${pattern}`);
    const found = (await connect().diagnose()).filter(({ subject }) => subject === 'permissions');
    expect(found).toEqual([
      {
        level: 'error',
        subject: 'permissions',
        message: `this user may not use the key ${world.prefix}${closed}. Allow it: ACL SETUSER <user> ~${world.prefix}*`,
      },
    ]);
  });

  it('is diagnosed with the permissions to give', async () => {
    await may('-blpop', '-hset');
    const found = (await connect().diagnose()).find(({ subject }) => subject === 'permissions');
    expect(found?.message).toContain('ACL SETUSER <user> +hset +blpop');
  });

  it.each(['zadd', 'zrem', 'lpop', 'ltrim', 'rpush', 'hset', 'set', 'zscore', 'lrange', 'evalsha'])(
    'loses no job of a running worker while %s is forbidden',
    async (command) => {
      const QUEUE = `under-${command}`;
      const log = new RecordingLogger();
      const manager = new QueueManager(
        { connectors: builtInConnectors, logger: log },
        {
          connections: {
            redis: {
              driver: 'redis',
              host: '127.0.0.1',
              port: world.server.port,
              prefix: world.prefix,
              username: 'worker',
              password: 'secret',
              retryAfter: 60,
            },
          },
          jobs: [Ended],
        },
      );
      const ids = Array.from({ length: 200 }, (_, at) => `job-${at}`);
      const texts = ids.map((id, at) => `{"job":"Ended","data":{"end":${at % 4}},"id":"${id}","attempts":0}`);
      await world.connect().push(
        QUEUE,
        texts.map((text) => ({ payload: text })),
      );
      ended.clear();
      const worker = new Worker({ connection: 'redis', queue: [QUEUE], concurrency: 10 }, manager);
      const run = worker.run();
      await eventually(() => ended.size > 20, { of: 'jobs that have run' });
      await may(`-${command}`);
      await eventually(() => ended.size === ids.length || log.messages('error').length > 0, { of: 'a refusal' });
      await may(`+${command}`);

      const left = async (): Promise<number> => manager.connection('redis').size(QUEUE);
      await eventually(async () => (await left()) === 0 && ended.size === ids.length, {
        of: 'the end of all',
        deadline: 150_000,
      });
      await worker.stop();
      await run;
      const kept = await manager.failed.list({ queue: QUEUE, limit: 1000 });
      await manager.close();

      // A job may run twice at worst, and a failed one is then kept once per run.
      expect(new Set(kept.map(({ id }) => id)).size).toBeGreaterThanOrEqual(50);
    },
  );
});

describe('a redis that has renamed a command', () => {
  let world: RedisWorld;

  afterEach(() => world.stop());

  it.each(['info', 'eval', 'evalsha', 'time'])('%s says so, at once and with the remedy', async (command) => {
    world = await RedisWorld.start(['--rename-command', command, '']);
    const delayed = { payload: payload('a'), delay: 60 };

    await expect(world.connect({}, { deadline: 600 }).push('q', [delayed])).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      facts: { refused: true, uncertain: false },
      message: expect.stringMatching(/unknown (redis )?command.* was not queued\. .*rename-command/i) as string,
    });
  });
});

import Redis from 'ioredis';
import { builtInConnectors } from '../../../src/connections/built-in';
import { isReply, remedyOf } from '../../../src/connections/redis/refusals';
import { Job } from '../../../src/job/job';
import { QueueManager } from '../../../src/application/queue-manager';
import { startRedisServer } from '../../support/redis-server';
import { RedisWorld, silent } from './open-redis';

const payload = '{"job":"probe","data":{},"id":"a","attempts":0}';

const replied = (message: string): Error => Object.assign(new Error(message), { name: 'ReplyError' });

async function failureOf(promise: Promise<unknown>): Promise<Error> {
  return promise.then(
    () => new Error('It was carried out.'),
    (error: Error) => error,
  );
}

describe('a redis database that does not exist', () => {
  let world: RedisWorld;

  beforeAll(async () => {
    world = await RedisWorld.start(['--databases', '4']);
  });
  beforeEach(() => world.fresh());
  afterEach(() => world.closeConnections());
  afterAll(() => world.stop());

  it.each([
    ['in the URL', (): object => ({ url: world.url.replace(/0$/, '99') })],
    ['as db', (): object => ({ url: undefined, port: world.server.port, db: 99 })],
    [
      'by a client of the user',
      (): object => ({ url: undefined, client: new Redis({ port: world.server.port, db: 99, lazyConnect: true }) }),
    ],
  ])('does not make jobs land in database 0, given %s', async (_how, config) => {
    const failure = await failureOf(world.connect(config()).push('q', [{ payload }]));

    expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { uncertain: false } });
    expect(failure.message).toMatch(
      /^Redis at redis:\/\/[\w.]+:\d+\/99 refused \(ERR DB index is out of range\); a job was not queued\. Give a database/,
    );
    expect(await world.keys()).toEqual({});
  });

  it('does not make a clear hit the jobs of database 0, however often it is repeated', async () => {
    await world.connect().push('q', [{ payload }]);
    const elsewhere = world.connect({ url: world.url.replace(/0$/, '99') });

    const failures = [await failureOf(elsewhere.queues.clear('q')), await failureOf(elsewhere.queues.clear('q'))];

    expect(failures.map(({ message }) => /refused \(ERR DB index/.test(message))).toEqual([true, true]);
    expect(await world.connect().queues.counts('q')).toMatchObject({ ready: 1 });
  });

  it('is also refused after a reconnect, when the server came back with fewer databases', async () => {
    const own = await startRedisServer();
    const connection = world.connect({ url: own.url.replace(/0$/, '9') });
    await connection.push('q', [{ payload }]);
    await own.stop();
    const fewer = await startRedisServer({ port: own.port, args: ['--databases', '4'] });
    const client = new Redis(fewer.url);

    expect((await failureOf(connection.push('q', [{ payload }]))).message).toContain('ERR DB index is out of range');
    expect(await client.dbsize()).toBe(0);

    client.disconnect();
    await connection.close();
    await fewer.stop();
  });

  it('does not affect a database that exists', async () => {
    const connection = world.connect({ url: world.url.replace(/0$/, '3') });

    await connection.push('q', [{ payload }]);

    expect(await connection.queues.counts('q')).toMatchObject({ ready: 1 });
    expect(await world.keys()).toEqual({});
  });
});

describe('the error of a redis that answered does not ask whether it runs', () => {
  it.each([
    ['NOAUTH Authentication required.', /user and the password/],
    ['WRONGPASS invalid username-password pair or user is disabled.', /user and the password/],
    ["NOPERM User worker has no permissions to run the 'evalsha' command", /ACL SETUSER/],
    ["OOM command not allowed when used memory > 'maxmemory'.", /^Raise maxmemory/],
    ["READONLY You can't write against a read only replica.", /address of its master/],
    ['LOADING Redis is loading the dataset in memory', /try again in a moment/],
    ['MISCONF Redis is configured to save RDB snapshots', /disk/],
    ['BUSY Redis is busy running a script.', /SCRIPT KILL/],
    ['ERR max number of clients reached', /maxclients/],
    ['CLUSTERDOWN The cluster is down', /state of its cluster/],
  ])('%s', (reply, remedy) => {
    expect(remedyOf(replied(reply))).toMatch(remedy);
  });

  it('but that of one that did not answer does', () => {
    const refused = new Error('connect ECONNREFUSED');
    expect([isReply(refused), remedyOf(refused), remedyOf(undefined)]).toEqual([false, undefined, undefined]);
  });
});

@Job()
class RefusedMail extends Job {}

describe('a dispatch that redis refuses', () => {
  it('names the job and says that it was not queued if a key has another type', async () => {
    const server = await startRedisServer();
    const client = new Redis(server.url);
    const manager = new QueueManager(
      { connectors: builtInConnectors, logger: silent },
      { connections: { main: { driver: 'redis', url: server.url } } },
    );
    await client.set('queues:default', 'not a list');

    const failure = await failureOf(manager.connection().push(new RefusedMail()));
    await manager.close();
    client.disconnect();
    await server.stop();

    expect(failure).toMatchObject({
      code: 'E_REDIS_FOREIGN_KEY',
      facts: { connection: 'main', consequence: 'RefusedMail was not queued' },
      message: expect.stringMatching(
        /'queues:default' .* is a string, .*; RefusedMail was not queued\. Rename/,
      ) as string,
    });
  });
});

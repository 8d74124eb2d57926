import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SCRIPTED } from '../../../src/connections/redis/permissions';
import type { Logger } from '../../../src/logger/logger';
import { RedisWorld, silent } from './open-redis';

const LUA = join(__dirname, '../../../lua');

const payload = (id: string): string => `{"job":"probe","data":{},"id":"${id}","attempts":0}`;
const request = { queues: ['q'], limit: 10, lease: 600 };

it('the commands that are asked for are those that the scripts call', () => {
  const scripts = readdirSync(LUA).filter((file) => file.endsWith('.lua'));
  const texts = scripts.map((file) => readFileSync(join(LUA, file), 'utf8')).join('\n');
  const called = [...texts.matchAll(/\b(?:call\(|ask\(queue, )'(\w+)'/g)].map(([, name]) => name!.toLowerCase());
  expect([...SCRIPTED].toSorted()).toEqual([...new Set(called)].toSorted());
});

describe('a redis connection whose user may not do all', () => {
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

  it('reserves nothing where a script would stop half way, says what is not allowed, and goes on when it is', async () => {
    await may('-hset', '-zadd');
    const connection = connect();
    const refused = connection.reserve(request);
    await expect(refused).rejects.toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { refused: true } });
    await expect(refused).rejects.toThrow(/NOPERM this user may not call hset, zadd.*no jobs were reserved/);
    expect(await connection.counts('q')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    await may('+hset', '+zadd');
    expect((await connection.reserve(request)).reservations).toHaveLength(1);
  });

  it('takes a script that was refused on the way for a lack of permission', async () => {
    await may('-rpush');
    await expect(connect().push('q', [{ payload: payload('b') }])).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      message: expect.stringContaining('by ACL SETUSER') as string,
    });
  });

  it('says once that nobody may wait for jobs', async () => {
    await may('-blpop');
    const said: string[] = [];
    const connection = connect({ ...silent, warn: (_, message) => said.push(message) });
    const waiter = connection.waiter(['q']);
    await waiter.wait(0.05, new AbortController().signal);
    await waiter.wait(0.05, new AbortController().signal);
    expect(said).toEqual([expect.stringMatching(/lets nobody wait.*blpop.*every 2 s/)]);
  });

  it('is told by the check what to allow', async () => {
    await may('-blpop', '-hset');
    const found = (await connect().diagnose()).find(({ subject }) => subject === 'permissions');
    expect(found?.message).toContain('ACL SETUSER <user> +hset +blpop');
  });
});

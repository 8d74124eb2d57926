import dns from 'node:dns';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { eventually } from '../../support/eventually';
import { freePort, type RedisServer, startRedisServer } from '../../support/redis-server';
import { FaultyProxy } from '../kit/faulty-proxy';
import { NO_FAULTS, OutageApplication } from './application';

let redis: RedisServer;
let proxy: FaultyProxy;
let application: OutageApplication;

beforeAll(async () => {
  redis = await startRedisServer();
});

afterAll(() => redis.stop());

beforeEach(async () => {
  proxy = await FaultyProxy.start(redis.port);
});

afterEach(async () => {
  await application.close();
  await proxy.stop();
});

const open = (url: string): void => {
  application = new OutageApplication({ url, prefix: `${expect.getState().currentTestName}:` });
};

it('connections that died unnoticed cost a dispatch half its deadline, and the worker a reconnect', async () => {
  open(proxy.url);
  await application.works();

  proxy.goHalfOpen();

  expect(await application.dispatch()).toBeUndefined();
  await application.works();
  await application.settled();
  expect(application.faults).toEqual(NO_FAULTS);
  expect(application.said).toEqual([]);
});

it('work continues when a silent network heals', async () => {
  open(proxy.url);
  application.startTraffic();
  await application.progress();
  proxy.goSilent();
  await eventually(() => application.said.length > 0, { of: 'a word of the worker' });
  const failure = await application.dispatch();

  proxy.heal();

  await application.progress();
  await application.settled();
  expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE' });
  expect(application.faults).toEqual(NO_FAULTS);
  await eventually(() => application.said.at(-1)?.endsWith('answers again.'));
});

it('answers that take half a second are accepted', async () => {
  application = new OutageApplication({ url: proxy.url, prefix: 'slow:', deadline: '60s' });
  await application.works();
  await eventually(() => proxy.connections === 3, { of: 'a dispatcher, a worker, and its blocking read' });
  const { connections } = proxy;

  proxy.delay(500);

  await application.works();
  await application.works();
  expect(application.said).toEqual([]);
  expect(proxy.connections).toBe(connections);
});

it('cutting all connections under load loses no job and duplicates none', async () => {
  open(proxy.url);
  application.startTraffic();
  for (let time = 0; time < 5; time += 1) {
    await application.progress();
    proxy.cut();
  }

  await application.progress();
  await application.settled();
  expect(application.faults).toEqual(NO_FAULTS);
});

it('a redis that was away from the start is found when it comes up', async () => {
  const port = await freePort();
  open(`redis://127.0.0.1:${port}/0`);
  await eventually(() => application.said.length > 0, { of: 'a word of the worker' });

  const late = await startRedisServer({ port });
  await application.works();

  expect(application.said).toEqual([
    expect.stringContaining('ECONNREFUSED'),
    `info: redis://127.0.0.1:${port}/0 answers again.`,
  ]);
  await application.close();
  await late.stop();
});

it('an unknown host name is resolved again until it is known', async () => {
  const lookup = jest.spyOn(dns, 'lookup').mockImplementation(((...args: unknown[]) => {
    const answer = args.at(-1) as (error: Error) => void;
    answer(Object.assign(new Error('getaddrinfo ENOTFOUND redis.test'), { code: 'ENOTFOUND' }));
  }) as never);
  open(`redis://localhost:${redis.port}/0`);
  const failure = await application.dispatch();
  await eventually(() => application.said.length > 0);

  lookup.mockRestore();

  await application.works();
  expect(failure).toMatchObject({ code: 'E_QUEUE_UNAVAILABLE', facts: { uncertain: false } });
  expect(failure?.message).toMatch(/ENOTFOUND.*Check the name of its host\./);
});

describe('a port that accepts but never answers', () => {
  let server: Server;
  let connections: number;

  async function listen(greet: 'ends it' | 'is silent'): Promise<string> {
    connections = 0;
    server = createServer((socket) => {
      connections += 1;
      socket.on('error', () => socket.destroy());
      if (greet === 'ends it') socket.destroy();
      else socket.resume();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `redis://127.0.0.1:${(server.address() as AddressInfo).port}/0`;
  }

  afterEach(async () => {
    await application.close();
    server.close();
  });

  it.each([['ends it'], ['is silent']] as const)('and who takes a connection %s, is not run at', async (greet) => {
    open(await listen(greet));
    const failures = [await application.dispatch(), await application.dispatch(), await application.dispatch()];

    // Three dispatches of a second each, beside the worker. Without pauses there would be hundreds of connections.
    expect(connections).toBeLessThan(40);
    expect(failures.map((failure) => (failure as { facts?: { uncertain?: boolean } }).facts?.uncertain)).toEqual([
      false,
      false,
      false,
    ]);
  });
});

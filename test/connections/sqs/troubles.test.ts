import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import { Job } from '../../../src/job/job';
import { systemClock, type Clock } from '../../../src/base/clock';
import { silentLogger } from '../../../src/base/logger';
import type { Entry } from '../../../src/connections/contract';
import type { BulkInterruptedError } from '../../../src/dispatch/errors';
import { QueueManager } from '../../../src/application/queue-manager';
import { Worker } from '../../../src/worker/worker';
import { FaultyProxy } from '../../faults/kit/faulty-proxy';
import { eventually } from '../../support/eventually';
import { Project, requireBuild } from '../../support/project';
import { freePort } from '../../support/redis-server';
import type { SqsCredentials } from '../../../src/connections/sqs/driver';
import { credentials, SqsWorld } from './open-sqs';
import { reserveFrom, settleIn } from '../../support/exchange';

const entries: readonly Entry[] = [{ payload: '{"job":"probe","id":"a","attempts":0}' }];
/** An attempt that may be repeated is given up then. */
const HALF_THE_DEADLINE = 30;
const request = { queues: ['default'], limit: 1, lease: 60 };

const world = new SqsWorld().forTests();

beforeEach(() => {
  world.createQueue('default');
});

@Job()
class Letter extends Job {
  async handle(): Promise<void> {}
}

/** Lets the deadline of a push pass once the given number of its requests have reached the server. */
async function pushedInVain(jobs: readonly Entry[], requests = 1): Promise<void> {
  const push = world.connect().push('default', jobs);
  await eventually(() => world.server.count('SendMessageBatch') >= requests);
  await world.clock.passing(push);
}

const bodies = (): readonly string[] => world.server.queues.get('default')!.bodies;

it.each([
  ['RequestThrottled', 403],
  ['ThrottlingException', 400],
  ['ServiceUnavailable', 503],
])('%s is retried until it is over', async (code, status) => {
  world.server.fail({ action: 'SendMessageBatch', kind: 'refuse', code, status, calls: 2 });

  await world.connect().push('default', entries);

  expect(bodies()).toHaveLength(1);
  expect(world.server.count('SendMessageBatch')).toBe(3);
});

it('only throttled entries are sent again', async () => {
  const fault = { action: 'SendMessageBatch', places: [0], code: 'RequestThrottled', senderFault: true, calls: 2 };
  world.server.failEntries(fault);

  await world.connect().push('default', [...entries, ...entries]);

  expect(bodies()).toHaveLength(2);
});

it('throttling that does not end is reported at the deadline with the remedy', async () => {
  world.server.fail({
    action: 'SendMessageBatch',
    kind: 'refuse',
    code: 'RequestThrottled',
    status: 403,
    calls: 99_999,
  });

  await expect(pushedInVain(entries)).rejects.toMatchObject({
    code: 'E_QUEUE_UNAVAILABLE',
    message: expect.stringMatching(/RequestThrottled.*Send fewer requests/),
    facts: { refused: true, uncertain: false, deadline: 60 },
  });
  expect(bodies()).toEqual([]);
});

it.each(['lose', 'garble', 'hang'] as const)(
  'a push without an answer (%s) is not repeated and is reported as uncertain',
  async (kind) => {
    world.server.fail({ action: 'SendMessageBatch', kind });

    await expect(pushedInVain(entries)).rejects.toMatchObject({
      code: 'E_QUEUE_UNAVAILABLE',
      facts: { uncertain: true, store: 'SQS', address: world.server.endpoint },
    });
    expect(world.server.count('SendMessageBatch')).toBe(1);
  },
);

it('waiting batches are not sent after one was not answered within the deadline', async () => {
  world.server.fail({ action: 'SendMessageBatch', kind: 'hang', calls: 99 });
  const many = Array.from({ length: 250 }, () => entries[0]!);

  await expect(pushedInVain(many, 10)).rejects.toMatchObject({
    code: 'E_QUEUE_UNAVAILABLE',
  });
  expect(world.server.count('SendMessageBatch')).toBe(10);
});

it('a push is uncertain if one of its batches may have been queued', async () => {
  const throttled = { action: 'SendMessageBatch', kind: 'refuse', code: 'RequestThrottled', status: 403 } as const;
  world.server.fail({ ...throttled, calls: 1 });
  world.server.fail({ action: 'SendMessageBatch', kind: 'hang', calls: 1 });
  world.server.fail({ ...throttled, calls: 99_999 });
  const many = Array.from({ length: 20 }, () => entries[0]!);

  await expect(pushedInVain(many, 2)).rejects.toMatchObject({
    facts: { uncertain: true },
  });
});

it('jobs that SQS accepted are not reported as unsent', async () => {
  world.server.failEntries({ action: 'SendMessageBatch', places: [1], code: 'KmsDisabled', senderFault: true });
  const { endpoint, prefix } = world.server;
  const sqs = { driver: 'sqs', region: 'eu-west-1', endpoint, prefix, credentials } as const;
  const manager = new QueueManager({ connectors: builtInConnectors, logger: silentLogger }, { connections: { sqs } });
  const jobs = [new Letter(), new Letter(), new Letter()];

  const error = await manager
    .connection('sqs')
    .bulk(jobs)
    .catch((reason: unknown) => reason);

  expect(error).toMatchObject({ code: 'E_BULK_INTERRUPTED' });
  const inside = bodies().map((body) => (JSON.parse(body) as { id: string }).id);
  expect((error as BulkInterruptedError).facts.ids).toEqual(inside);
  expect(inside).toHaveLength(2);
  await manager.close();
});

it.each(['lose', 'garble', 'hang'] as const)('an outcome without an answer (%s) is written again', async (kind) => {
  const connection = world.connect();
  await connection.push('default', entries);
  const [job] = (await reserveFrom(connection, request)).reservations;
  world.server.fail({ action: 'DeleteMessageBatch', kind });

  const settling = settleIn(connection, [{ outcome: 'completed', reservation: job! }]);
  await eventually(() => world.server.count('DeleteMessageBatch') > 0);
  world.clock.advance(HALF_THE_DEADLINE);

  expect(await settling).toEqual(['settled']);
  expect(bodies()).toEqual([]);
});

it('a service that is away is tried until the deadline, and used again when it is back', async () => {
  const { server } = world;
  await server.stop();
  const connection = world.connect();

  await expect(world.clock.passing(connection.push('default', entries))).rejects.toMatchObject({
    code: 'E_QUEUE_UNAVAILABLE',
    facts: { uncertain: false, reason: expect.stringContaining('ECONNREFUSED') },
  });

  const patient = world.connect();
  const push = patient.push('default', entries);
  await server.startAgain();
  await push;
  expect(bodies()).toHaveLength(1);
});

it('a connection whose other end is gone is replaced in time', async () => {
  const proxy = await FaultyProxy.start(world.server.port);
  const endpoint = `http://127.0.0.1:${new URL(proxy.url).port}`;
  const connection = world.connect({ endpoint, prefix: `${endpoint}/1` });
  await connection.push('default', entries);
  const [job] = (await reserveFrom(connection, request)).reservations;

  proxy.goHalfOpen();

  const requests = proxy.requests;
  const renewing = connection.renew([job!], 60);
  await eventually(() => proxy.requests > requests);
  world.clock.advance(HALF_THE_DEADLINE);

  expect(await renewing).toEqual(['renewed']);
  expect(await settleIn(connection, [{ outcome: 'completed', reservation: job! }])).toEqual(['settled']);
  await connection.close();
  await proxy.stop();
});

it('a port without a server is reported without revealing a secret', async () => {
  const endpoint = `http://user:sesame@127.0.0.1:${await freePort()}`;
  const push = world.clock.passing(world.connect({ endpoint }).push('default', entries));

  await expect(push).rejects.toMatchObject({ message: expect.not.stringContaining('sesame') });
});

it.each([
  ['SignatureDoesNotMatch', 403],
  ['AccessDenied', 403],
  ['ExpiredToken', 400],
])('%s is reported at once with the remedy', async (code, status) => {
  world.server.fail({ action: 'SendMessageBatch', kind: 'refuse', code, status });

  await expect(world.connect().push('default', entries)).rejects.toMatchObject({
    code: 'E_QUEUE_UNAVAILABLE',
    message: expect.stringMatching(new RegExp(`${code}.*Check the credentials`)),
    facts: { refused: true, uncertain: false },
  });
});

it.each([
  ['fails', () => Promise.reject(new Error('the vault is sealed')), 'the vault is sealed'],
  ['gives none', async () => ({}) as SqsCredentials, 'expected { accessKeyId, secretAccessKey }'],
])('a function for credentials that %s is reported at once, and nothing was sent', async (_, give, reason) => {
  await expect(world.connect({ credentials: give }).push('default', entries)).rejects.toMatchObject({
    code: 'E_QUEUE_UNAVAILABLE',
    message: expect.stringContaining('Check the credentials'),
    facts: { uncertain: false, reason: expect.stringContaining(reason) },
  });
  expect(world.server.count('SendMessageBatch')).toBe(0);
});

it('a function for credentials is asked again before they expire, or after some minutes if they do not say when', async () => {
  let given = 0;
  const give = async (): Promise<SqsCredentials> => ({ ...credentials, accessKeyId: `key${(given += 1)}` });
  const connection = world.connect({ credentials: give });
  await connection.push('default', entries);
  await connection.push('default', entries);
  expect(given).toBe(1);

  const later = Date.now() + 360_000;
  const now = jest.spyOn(Date, 'now').mockReturnValue(later);
  await connection.push('default', entries);
  now.mockRestore();

  expect(given).toBe(2);
});

it('a region that cannot be is reported at once, and nothing was sent', async () => {
  await expect(world.connect({ region: 'eu west' }).push('default', entries)).rejects.toMatchObject({
    code: 'E_QUEUE_UNAVAILABLE',
    message: expect.stringMatching(/region="eu west".*Give region/),
    facts: { uncertain: false },
  });
});

it('other errors of SQS are quoted', async () => {
  world.server.fail({ action: 'ReceiveMessage', kind: 'refuse', code: 'OverLimit', status: 403 });

  await expect(reserveFrom(world.connect(), request)).rejects.toMatchObject({
    code: 'E_SQS_REPLY',
    facts: { operation: 'ReceiveMessage', queue: 'default', reply: 'OverLimit' },
  });
});

it('a queue that cannot be read does not hold up the jobs of another', async () => {
  const connection = world.connect();
  await connection.push('default', entries);

  expect(
    (await reserveFrom(connection, { ...request, queues: ['default', 'lost'], limit: 5 })).reservations,
  ).toHaveLength(1);
  await expect(reserveFrom(connection, { ...request, queues: ['default', 'lost'] })).rejects.toMatchObject({
    code: 'E_SQS_QUEUE_MISSING',
  });
});

describe('a program', () => {
  const program = (config: object): string => `
    const { Queue } = require('onqueue');
    Queue.configure({ connections: { main: ${JSON.stringify({ driver: 'sqs', ...config })} } });
    const isLoaded = () => Object.keys(require.cache).some((file) => file.includes('client-sqs'));
    const before = isLoaded();
    Queue.connection().pushRaw('{"job":"probe","attempts":0}').then(
      () => console.log(before, isLoaded(), 'pushed'),
      ({ code, message }) => console.log(before, isLoaded(), code, message),
    );`;

  const withoutSdk = `
    const modules = require('node:module');
    const load = modules._load;
    modules._load = (name, ...rest) => {
      if (name !== '@aws-sdk/client-sqs') return load(name, ...rest);
      throw Object.assign(new Error("Cannot find module '@aws-sdk/client-sqs'"), { code: 'MODULE_NOT_FOUND' });
    };`;

  beforeAll(() => requireBuild());

  async function run(config: object, before = ''): Promise<string> {
    const project = new Project();
    project.linkPackage();
    project.write('main.js', before + program(config));
    const { stdout, stderr } = await project.run(['main.js'], {
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_REGION: undefined,
      AWS_ACCESS_KEY_ID: undefined,
      AWS_PROFILE: undefined,
      HOME: project.folder,
    });
    project.remove();
    return stdout || stderr;
  }

  it('loads the SDK on first use and ends by itself', async () => {
    const { endpoint, prefix } = world.server;

    expect(await run({ region: 'eu-west-1', endpoint, prefix, credentials })).toBe('false true pushed\n');
  });

  it('gets an error that names the missing SDK', async () => {
    expect(await run({ region: 'eu-west-1' }, withoutSdk)).toMatch(/E_MISSING_PEER .*npm install @aws-sdk\/client-sqs/);
  });

  it('gets an error if the region or the credentials are missing', async () => {
    const { endpoint, prefix } = world.server;

    expect(await run({ endpoint, prefix, credentials })).toMatch(/E_QUEUE_UNAVAILABLE .*Region is missing.*AWS_REGION/);
    expect(await run({ region: 'eu-west-1', endpoint, prefix })).toMatch(/E_QUEUE_UNAVAILABLE .*credentials/);
  });
});

describe('a worker', () => {
  /** A worker waits some seconds before it considers a queue of SQS empty. */
  const hurried: Clock = {
    now: () => systemClock.now(),
    monotonic: () => systemClock.monotonic() * 20,
    after: (milliseconds, callback, keepAlive) => systemClock.after(milliseconds / 20, callback, keepAlive),
  };

  @Job({ tries: 2, backoff: 0 })
  class Stumble extends Job {
    constructor(readonly times: number) {
      super();
    }

    handle(): void {
      runs.push(this.attempts);
      if (this.attempts <= this.times) throw new Error('stumbled');
    }
  }

  let runs: number[];
  let manager: QueueManager;

  beforeEach(() => {
    runs = [];
    const { endpoint, prefix } = world.server;
    const sqs = { driver: 'sqs', region: 'eu-west-1', endpoint, prefix, credentials, deadline: '60s' } as const;
    manager = new QueueManager(
      { connectors: builtInConnectors, logger: silentLogger, clock: hurried },
      { connections: { sqs, memory: { driver: 'memory' } }, default: 'sqs', failed: 'memory' },
    );
  });
  afterEach(() => manager.close());

  const work = (): Promise<unknown> => new Worker({ drain: true, sleep: 0.05 }, manager).run();

  it('tries a failing job again, then keeps it on another connection, from where it can be retried', async () => {
    const id = await new JobBus(() => manager).dispatch(new Stumble(3));

    await work();
    expect(runs).toEqual([1, 2]);
    expect(await manager.failed.get(id)).toMatchObject({ connection: 'sqs', queue: 'default', attempts: 2 });
    expect(bodies()).toEqual([]);

    expect(await manager.failed.retry(id)).toBe(true);
    expect(await manager.failed.get(id)).toBeUndefined();
    expect(bodies()).toEqual([expect.stringContaining('"releases":2,"attempts":0}')]);
  });

  it('fails payloads that are not JSON objects with their bytes, and continues', async () => {
    for (const payload of ['[]', 'not json', '{"a":1}}']) await manager.connection().pushRaw(payload);
    await new JobBus(() => manager).dispatch(new Stumble(0));

    await work();

    const failed = await manager.failed.list();
    expect(failed.map(({ payload }) => payload).toSorted()).toEqual(['[]', 'not json', '{"a":1}}']);
    expect(runs).toEqual([1]);
    expect(bodies()).toEqual([]);
  });
});

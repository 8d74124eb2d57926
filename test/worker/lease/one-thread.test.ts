import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import threads from 'node:worker_threads';
import Redis from 'ioredis';
import { JobBus } from '../../../src/dispatch/bus';
import { builtInConnectors } from '../../../src/connections/built-in';
import { connectDatabase } from '../../../src/connections/sql/opening';
import { Job } from '../../../src/job/job';
import type { ConnectionConfig } from '../../../src/connections/driver';
import type { DatabaseConfig } from '../../../src/connections/sql/driver';
import { QueueManager } from '../../../src/application/queue-manager';
import { WorkerStoppingError } from '../../../src/worker/errors';
import { Worker } from '../../../src/worker/worker';
import { Gate, RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { startRedisServer, type RedisServer } from '../../support/redis-server';

let redis: RedisServer;
let folder: string;
let log: RecordingLogger;
let gate: Gate;
let reasons: unknown[];
let managers: QueueManager[];
let workers: Worker[];
let started: threads.Worker[];

@Job({ timeout: 0 })
class Long extends Job {
  async handle(): Promise<void> {
    this.signal.addEventListener('abort', () => reasons.push(this.signal.reason));
    await gate.opened;
  }
}

const onRedis = (prefix: string): ConnectionConfig => ({
  driver: 'redis',
  url: redis.url,
  prefix: `${folder}:${prefix}:`,
  retryAfter: '12s',
});

const onSqlite = (): DatabaseConfig => ({
  driver: 'database',
  url: `sqlite:${join(folder, 'jobs.sqlite')}`,
  retryAfter: '12s',
});

beforeAll(async () => {
  redis = await startRedisServer();
});

afterAll(() => redis.stop());

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'onqueue-one-thread-'));
  log = new RecordingLogger();
  gate = new Gate();
  reasons = [];
  managers = [];
  workers = [];
  started = [];
  const Thread = threads.Worker;
  jest.spyOn(threads, 'Worker').mockImplementation((program, options) => {
    const thread = new Thread(program, options);
    started.push(thread);
    return thread;
  });
});

afterEach(async () => {
  gate.open();
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(managers.map((manager) => manager.close()));
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

function manage(connections: Record<string, ConnectionConfig>): QueueManager {
  const manager = new QueueManager(
    { connectors: builtInConnectors, logger: log },
    { default: Object.keys(connections)[0]!, connections },
  );
  managers.push(manager);
  return manager;
}

/** A worker with a job that runs until the gate opens. */
async function busy(manager: QueueManager, connection: string): Promise<Worker> {
  await new JobBus(() => manager).dispatch(new Long()).onConnection(connection);
  const worker = new Worker({ connection, grace: 0 }, manager);
  workers.push(worker);
  void worker.run();
  await eventually(() => worker.health().running === 1);
  return worker;
}

/** Stops the event loop from renewing leases in place of a thread that is late. */
function leaveItToTheThread(manager: QueueManager, connection: string): void {
  jest.spyOn(manager.driver(connection), 'renew').mockRejectedValue(new Error('not from the event loop'));
}

async function leaseEnds(manager: QueueManager, connection: string): Promise<number[]> {
  const jobs = await manager.driver(connection).queues.peek!('default', 'reserved', 100);
  return jobs.map(({ at }) => at!).toSorted((one, other) => one - other);
}

/** Resolves when all leases have been renewed. */
async function renewed(manager: QueueManager, connection: string): Promise<void> {
  const last = (await leaseEnds(manager, connection)).at(-1)!;
  await eventually(async () => (await leaseEnds(manager, connection)).every((end) => end > last));
}

async function clientsOf({ url }: RedisServer): Promise<readonly string[]> {
  const client = new Redis(url);
  const list = String(await client.client('LIST'));
  client.disconnect();
  return list.trim().split('\n');
}

it('twenty workers of a process share one thread and three connections to their store, for calls, waits and leases', async () => {
  const manager = manage({ store: onRedis('many') });
  leaveItToTheThread(manager, 'store');
  for (let count = 0; count < 20; count += 1) await busy(manager, 'store');
  await renewed(manager, 'store');

  const idle = Array.from({ length: 20 }, (_, place) => {
    return new Worker({ connection: 'store', queue: [`q${place}`, 'default'] }, manager);
  });
  workers.push(...idle);
  for (const worker of idle) void worker.run();
  await eventually(() => idle.every((worker) => worker.health().lastPoll !== undefined));
  await eventually(async () => (await clientsOf(redis)).some((client) => client.includes('cmd=blpop')));

  expect(started).toHaveLength(1);
  // The fourth is the client that asks.
  expect(await clientsOf(redis)).toHaveLength(3 + 1);
  expect(reasons).toEqual([]);
});

it('workers of other stores and of another manager share the thread', async () => {
  const manager = manage({ one: onRedis('one'), other: onSqlite() });
  const second = manage({ one: onRedis('one') });
  leaveItToTheThread(manager, 'one');
  leaveItToTheThread(manager, 'other');
  leaveItToTheThread(second, 'one');

  await busy(manager, 'one');
  await busy(manager, 'other');
  await busy(second, 'one');
  await renewed(manager, 'one');
  await renewed(manager, 'other');

  expect(started).toHaveLength(1);
  expect(reasons).toEqual([]);
});

it('leases of other workers survive when a worker stops, and the thread ends with the last worker', async () => {
  const manager = manage({ store: onSqlite() });
  leaveItToTheThread(manager, 'store');
  const first = await busy(manager, 'store');
  const second = await busy(manager, 'store');
  await renewed(manager, 'store');

  await first.stop();
  await renewed(manager, 'store');
  expect(started).toHaveLength(1);
  gate.open();
  await second.stop();

  expect(reasons).toEqual([expect.any(WorkerStoppingError)]);
  expect(started.map(({ threadId }) => threadId)).toEqual([-1]);
});

it('a store that the thread cannot open does not affect other stores', async () => {
  const manager = manage({ good: onRedis('good'), bad: onSqlite() });
  const module = join(folder, 'access.cjs');
  writeFileSync(module, "exports.open = () => { throw new Error('no such engine'); };");
  manager.addConnector('database', (config: DatabaseConfig, context) =>
    Object.defineProperty(connectDatabase(config, context), 'threadAccess', { value: { module, data: undefined } }),
  );
  leaveItToTheThread(manager, 'good');

  await busy(manager, 'good');
  await busy(manager, 'bad');
  const gone = (): string[] => log.messages('warn').filter((line) => line.includes('is gone'));
  await eventually(() => gone().length > 0);
  await renewed(manager, 'good');
  await renewed(manager, 'bad');

  expect(gone()).toEqual([expect.stringMatching(/on bad is gone \(no such engine\)/)]);
  // On a busy machine the thread may start late, and the event loop then rightly tries to renew in its place.
  expect(log.messages('error').filter((line) => !line.startsWith('not from the event loop'))).toEqual([]);
  expect(started).toHaveLength(1);
  expect(reasons).toEqual([]);
});

it('the event loop renews in place of a thread that died, and the next worker starts a new thread', async () => {
  const manager = manage({ one: onRedis('dies'), other: onSqlite() });
  await busy(manager, 'one');
  await busy(manager, 'one');

  await started[0]!.terminate();
  await renewed(manager, 'one');
  leaveItToTheThread(manager, 'other');
  await busy(manager, 'other');
  await renewed(manager, 'other');

  expect(started).toHaveLength(2);
  expect(reasons).toEqual([]);
});

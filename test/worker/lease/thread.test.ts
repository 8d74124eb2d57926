import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInThisContext } from 'node:vm';
import threads from 'node:worker_threads';
import { JobBus } from '../../../src/dispatch/bus';
import { momentOf, monotonicOrigin, systemClock } from '../../../src/base/clock';
import { builtInConnectors } from '../../../src/connections/built-in';
import { connectDatabase } from '../../../src/connections/sql/opening';
import { Job } from '../../../src/job/job';
import type { ConnectionConfig, Connector } from '../../../src/connections/driver';
import type { DatabaseConfig } from '../../../src/connections/sql/driver';
import type { Connection, ThreadAccess } from '../../../src/connections/contract';
import { noCounters } from '../../../src/payload/counters';
import { threadModule } from '../../../src/base/environment';
import { QueueManager } from '../../../src/application/queue-manager';
import { JobCancelledError, LeaseLostError } from '../../../src/worker/errors';
import {
  LOOKING,
  STATES,
  type FromThread,
  type ThreadData,
  type ToThread,
  type WorkerData,
} from '../../../src/worker/lease/link';
import { LeaseTable } from '../../../src/worker/lease/record';
import { Worker } from '../../../src/worker/worker';
import { Gate, RecordingLogger } from '../../support/application';
import { eventually } from '../../support/eventually';
import { startRedisServer, type RedisServer } from '../../support/redis-server';
import { meantToPass } from '../../support/meant-to-pass';

let redis: RedisServer;
let folder: string;
let manager: QueueManager;
let bus: JobBus;
let log: RecordingLogger;
let gate: Gate;
let ran: string[];
let reasons: unknown[];
let worker: Worker;
/** The threads that were started. */
let started: threads.Worker[];
/** The data of the workers that joined a thread. */
let given: WorkerData[];

@Job({ timeout: 0 })
class Held extends Job {
  constructor(readonly text = '') {
    super();
  }

  async handle(): Promise<void> {
    ran.push('started');
    const aborted = new Promise((resolve) => {
      this.signal.addEventListener('abort', () => {
        reasons.push(this.signal.reason);
        resolve(undefined);
      });
    });
    await Promise.race([gate.opened, aborted]);
  }
}

const onSqlite = (): DatabaseConfig => ({
  driver: 'database',
  url: `sqlite:${join(folder, 'jobs.sqlite')}`,
  // A thread must be able to start within half of it, even on a busy machine; a test waits for a third, the first renewal.
  retryAfter: '12s',
});
const stores: [string, () => ConnectionConfig][] = [
  ['redis', () => ({ driver: 'redis', url: redis.url, prefix: `${folder}:`, retryAfter: '12s' })],
  ['database', onSqlite],
];

beforeAll(async () => {
  redis = await startRedisServer();
});

afterAll(() => redis.stop());

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'onqueue-leases-'));
  log = new RecordingLogger();
  gate = new Gate();
  ran = [];
  reasons = [];
  started = [];
  given = [];
  const Thread = threads.Worker;
  jest.spyOn(threads, 'Worker').mockImplementation((program, options) => {
    const thread = new Thread(program, options);
    const post = thread.postMessage.bind(thread);
    jest.spyOn(thread, 'postMessage').mockImplementation((message: ToThread, handedOver) => {
      if (message.kind === 'join') given.push(message.data);
      post(message, handedOver as []);
    });
    started.push(thread);
    return thread;
  });
});

afterEach(async () => {
  gate.open();
  await worker.stop();
  await manager.close();
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true, force: true });
});

function open(config: ConnectionConfig): void {
  manager = new QueueManager({ connectors: builtInConnectors, logger: log }, { connections: { store: config } });
  bus = new JobBus(() => manager);
  worker = new Worker({}, manager);
}

/** SQLite with another way for a thread to reach it. */
function openWith(threadAccess: ThreadAccess | undefined): void {
  open({ ...onSqlite(), retryAfter: meantToPass('1s') });
  const connector: Connector<DatabaseConfig> = (config, context): Connection =>
    Object.defineProperty(connectDatabase(config, context), 'threadAccess', { value: threadAccess });
  manager.addConnector('database', connector);
}

function accessThat(opens: string): ThreadAccess {
  const module = join(folder, 'access.cjs');
  writeFileSync(module, `exports.open = () => { ${opens} };`);
  return { module, data: undefined };
}

/** A store for the thread that answers every renewal this way. */
const accessThatRenews = (answer: string): ThreadAccess =>
  accessThat(
    `return { renew: async (reservations) => { ${answer} }, exchange: async () => ({ results: [] }), close: async () => {} };`,
  );

async function runHeld(text?: string): Promise<string> {
  const id = await bus.dispatch(new Held(text));
  if (worker.health().state === 'new') void worker.run();
  await eventually(() => ran.length > 0);
  return id;
}

async function leaseEnd(): Promise<number> {
  const [job] = await manager.driver().queues.peek!('default', 'reserved', 1);
  return job?.at ?? 0;
}

async function renewed(times = 1): Promise<void> {
  for (let time = 0; time < times; time += 1) {
    const before = await leaseEnd();
    await eventually(async () => (await leaseEnd()) > before);
  }
}

/** Stops the event loop from renewing leases in place of a thread that is late, as it may be on a busy machine. */
function leaveItToTheThread(): void {
  jest.spyOn(manager.driver(), 'renew').mockRejectedValue(new Error('not from the event loop'));
}

describe.each(stores)('on %s', (_name, config) => {
  it('leases are renewed by a thread, without the connection of the event loop', async () => {
    open(config());
    leaveItToTheThread();

    await runHeld();
    await renewed(2);

    expect(reasons).toEqual([]);
  });

  it('the lease of a job with a long payload is renewed too', async () => {
    open(config());
    leaveItToTheThread();

    await runHeld('x'.repeat(10_000));
    await renewed();

    expect(reasons).toEqual([]);
  });

  it('a job whose lease the thread finds lost is aborted', async () => {
    open(config());
    await runHeld();

    await manager.driver().queues.clear!('default');
    await eventually(() => reasons.length > 0);

    expect(reasons).toEqual([expect.any(LeaseLostError)]);
    await worker.stop();
    expect(log.messages('warn')).toContainEqual(expect.stringContaining('was lost'));
  });

  it('a job whose cancellation the thread notices is aborted and ends as cancelled', async () => {
    open(config());
    leaveItToTheThread();
    const id = await runHeld();

    expect(await manager.driver().control!.cancel(id)).toBe('signalled');
    await eventually(() => reasons.length > 0);
    await worker.stop();

    expect(reasons).toEqual([expect.any(JobCancelledError)]);
    expect(worker.health().outcomes).toMatchObject({ cancelled: 1 });
  });
});

it('a worker has a thread from its first job until its end', async () => {
  open(onSqlite());
  const idle = new Worker({}, manager);
  void idle.run();
  await eventually(() => idle.health().lastPoll !== undefined);
  expect(started).toEqual([]);
  await idle.stop();

  await runHeld();
  await renewed();
  gate.open();
  await worker.stop();

  expect(started.map(({ threadId }) => threadId)).toEqual([-1]);
});

it('a thread that rests because it had nothing to do renews the lease of the next job', async () => {
  open(onSqlite());
  leaveItToTheThread();
  await runHeld();
  gate.open();
  await eventually(() => given[0] !== undefined && Atomics.load(given[0].state, LOOKING) === 0);
  gate = new Gate();
  ran = [];

  await runHeld();
  await renewed();

  expect(reasons).toEqual([]);
});

describe('the event loop renews leases in place of a thread, and logs it once, if', () => {
  it.each<[string, () => ThreadAccess | undefined, 'info' | 'warn', string]>([
    ['a driver gives no access', () => undefined, 'info', 'the driver gives a thread no access'],
    [
      'the module does not exist, as in a bundle',
      () => ({ module: join(folder, 'missing.js'), data: {} }),
      'info',
      'missing.js is not there',
    ],
    ['the module cannot be used', () => accessThat('throw new Error("no such engine")'), 'warn', 'no such engine'],
    ['the thread dies', () => accessThat('process.exit(3)'), 'warn', 'it exited with 3'],
  ])('%s', async (_case, access, level, why) => {
    openWith(access());
    const renew = jest.spyOn(manager.driver(), 'renew');

    await runHeld();
    await renewed();

    expect(renew).toHaveBeenCalled();
    expect(reasons).toEqual([]);
    // On a busy machine the thread may start late and be logged after the first renewal.
    await eventually(() => log.messages(level).length > 0);
    expect(log.messages(level)).toEqual([expect.stringContaining(why)]);
  });

  it('the thread has died before a job starts', async () => {
    openWith(accessThat('process.exit(3)'));
    worker = new Worker({ concurrency: 2 }, manager);
    await runHeld();
    await eventually(() => log.messages('warn').length > 0);
    const renew = jest.spyOn(manager.driver(), 'renew');

    await bus.dispatch(new Held());
    await eventually(() => renew.mock.calls.some(([reservations]) => reservations.length === 2));

    expect(reasons).toEqual([]);
  });

  it('the thread cannot reach the store', async () => {
    openWith(accessThatRenews("throw new Error('no route');"));

    await runHeld();
    await renewed();

    expect(reasons).toEqual([]);
    await eventually(() => log.messages('error').length > 0);
    expect(log.messages('error')).toEqual(['no route The worker goes on trying.']);
  });
});

it('the report on the blocked event loop of a thread waits for no silent part of the store, and blames no job of the main thread', async () => {
  open(onSqlite());
  const now = momentOf(systemClock);
  const table = new LeaseTable(now);
  for (const [at, queue] of ['silent', 'open'].entries()) {
    const record = table.take(now);
    const reservation = { queue, payload: Buffer.from(`{"id":"${queue}"}`), counters: noCounters, token: undefined };
    record.write(reservation);
    record.foresee(now.monotonic + 1, 0);
    record.show(at + 1);
  }
  // A job of another worker, which the main thread runs meanwhile: it is not to blame.
  const scope = join(folder, 'scope.js');
  const callerOf = (): object => ({ name: 'Innocent', id: '1', queue: 'main' });
  const { cache } = (runInThisContext('process') as NodeJS.Process)
    .getBuiltinModule('node:module')
    .createRequire(scope);
  cache[scope] = { exports: { callerOf } } as NodeJS.Module;
  const workerData: ThreadData = { clockOrigin: monotonicOrigin(), ofMainThread: false, scope, isDebugged: false };
  const thread = new threads.Worker(threadModule('worker/lease/thread/program'), { workerData });
  const data = {
    threadAccess: accessThat(`return {
      exchange: async ([one]) =>
        one.reservation.queue === 'silent' ? new Promise(() => {}) : { results: ['settled'] },
      close: async () => {},
    };`),
    lease: 60,
    origin: table.origin,
    state: new Int32Array(new SharedArrayBuffer(STATES * Int32Array.BYTES_PER_ELEMENT)),
    endsProcess: false,
    log: 'text' as const,
  };
  const told: FromThread[] = [];
  thread.on('message', (message: FromThread) => told.push(message));
  const tell = (message: ToThread): void => thread.postMessage(message, []);
  tell({ worker: 1, kind: 'join', data });
  for (const page of table.pages) tell({ worker: 1, kind: 'page', page });

  // The event loop of the worker never answers the thread here, so it counts as blocked.
  await eventually(() => told.some(({ kind }) => kind === 'blocked'), { of: 'an account' });
  await thread.terminate();

  delete cache[scope];

  const account = expect.stringMatching(
    / stands still past timeout .*: 1 recorded as timed out, 1 not recorded \(the store has not answered\)/,
  );
  expect(told).toContainEqual({ worker: 1, kind: 'blocked', numbers: [2], account });
});

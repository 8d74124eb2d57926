/** Schedules on stores that cannot push once by key: the connection that keeps the records provides a lock and a mark. */
import '../../src/composition';
import { QueueManager } from '../../src/application/queue-manager';
import { builtInConnectors } from '../../src/connections/built-in';
import type { Connection } from '../../src/connections/contract';
import { MemoryConnection } from '../../src/connections/memory/connection';
import { MemoryStore } from '../../src/connections/memory/store';
import { Job } from '../../src/job/job';
import type { PendingSchedule } from '../../src/schedule/schedule';
import { TestClock } from '../../src/testing/test-clock';
import { elapse, RecordingLogger } from '../support/application';

@Job()
class Prune extends Job {
  handle(): void {}
}

let clock: TestClock;
let plain: MemoryStore;
let records: MemoryStore;
let log: RecordingLogger;
let loseAnswer: boolean;
const ends: (() => Promise<void>)[] = [];

beforeEach(() => {
  clock = new TestClock(Date.UTC(2027, 0, 1, 12));
  plain = new MemoryStore('plain', clock);
  records = new MemoryStore('records', clock);
  log = new RecordingLogger();
  loseAnswer = false;
});

afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
});

function process(declare: (schedule: PendingSchedule) => PendingSchedule, operations?: string): QueueManager {
  const connect = (_config: unknown, { name }: { readonly name: string }): Connection => {
    const connection = new MemoryConnection(name, name === 'plain' ? plain : records);
    if (name !== 'plain') return connection;
    const push = connection.push.bind(connection);
    return Object.assign(connection, {
      capabilities: { ...connection.capabilities, moments: false, follows: false },
      // What SQS and beanstalkd lack.
      records: undefined,
      locks: undefined,
      keys: undefined,
      batches: undefined,
      now: undefined,
      push: async (...given: Parameters<typeof push>) => {
        const pushed = await push(...given);
        if (loseAnswer) throw new Error('the answer was lost');
        return pushed;
      },
    });
  };
  const manager = new QueueManager(
    { connectors: { ...builtInConnectors, memory: connect }, logger: log, clock, random: () => 0.5 },
    { connections: { plain: { driver: 'memory' }, records: { driver: 'memory' } }, default: 'plain', operations },
  );
  declare(manager.schedule(() => new Prune()));
  ends.push(manager.schedules.keep());
  return manager;
}

const waiting = (): Promise<number> =>
  new MemoryConnection('plain', plain).queues.counts('default').then(({ ready, delayed }) => ready + delayed);

test('one of several processes sends each occurrence at its moment', async () => {
  for (let count = 0; count < 5; count += 1) process((one) => one.everyMinute(), 'records');
  await elapse(clock, 59);
  expect(await waiting()).toBe(0);
  await elapse(clock, 2);
  expect(await waiting()).toBe(1);
  await elapse(clock, 60);
  expect(await waiting()).toBe(2);
});

test('an occurrence whose answer was lost is sent again with the same id', async () => {
  process((one) => one.everyMinute(), 'records');
  await elapse(clock, 50);
  loseAnswer = true;
  await elapse(clock, 11);
  loseAnswer = false;
  await elapse(clock, 15);
  const jobs = await new MemoryConnection('plain', plain).queues.peek('default', 'ready', 10);
  const ids = jobs.map(({ payload }) => (JSON.parse(payload.toString()) as { id: string }).id);
  expect(ids.length).toBeGreaterThan(1);
  expect(new Set(ids).size).toBe(1);
});

test('an occurrence whose sender died is sent by another process when the lock expires', async () => {
  const at = Date.UTC(2027, 0, 1, 12, 1);
  process((one) => one.everyMinute().missed('all'), 'records');
  await elapse(clock, 59);
  await new MemoryConnection('records', records).locks.acquire(`schedule Prune ${at}`, 'of the one that died', 30);
  await elapse(clock, 20);
  expect(await waiting()).toBe(0);
  await elapse(clock, 20);
  expect(await waiting()).toBe(1);
});

test("the overlap policy 'skip' is refused if the store keeps no keys", async () => {
  const manager = process((one) => one.everyMinute().overlap('skip'), 'records');
  await elapse(clock, 61);
  expect(await waiting()).toBe(0);
  expect(log.messages('error')).toEqual([expect.stringContaining('unique or debounced jobs')]);
  expect((await manager.schedules.list())[0]).toMatchObject({ problem: { code: 'E_CAPABILITY' } });
});

test('without a store for records, the log says so once and the list shows it', async () => {
  const manager = process((one) => one.everyMinute());
  await elapse(clock, 120);
  expect(await waiting()).toBe(0);
  expect(log.messages('error')).toEqual([expect.stringContaining('keeps no records')]);
  expect((await manager.schedules.list())[0]).toMatchObject({ problem: { code: 'E_NO_RECORDS' }, isKept: false });
  await expect(manager.schedules.pause('Prune')).rejects.toMatchObject({ code: 'E_NO_RECORDS' });
});

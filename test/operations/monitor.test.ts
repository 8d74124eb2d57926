import { QueueManager } from '../../src/application/queue-manager';
import { silentLogger } from '../../src/base/logger';
import { builtInConnectors } from '../../src/connections/built-in';
import type { MemoryConnection } from '../../src/connections/memory/connection';
import type { BusyEvent } from '../../src/job/hooks';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { elapse, testApplication, type TestApplication } from '../support/application';

const HOUR_MS = 3_600_000;

let application: TestApplication;
let told: BusyEvent[];

@Job({ queue: 'mail' })
class Monitored extends Job {
  handle(): void {}
}

beforeEach(() => {
  application = testApplication();
  told = [];
  application.manager.hooks.on('busy', (event) => void told.push(event));
});

afterEach(() => application.manager.close());

/** Runs two workers of another queue; they sample all queues. */
async function watched(run: () => Promise<void>): Promise<void> {
  const workers = [1, 2].map(() => new Worker({ queue: 'other' }, application.manager));
  const running = workers.map((worker) => worker.run());
  await run();
  await Promise.all(workers.map((worker) => worker.stop()));
  await Promise.all(running);
}

describe('Queue.monitor', () => {
  it('reports a queue that is too long once, and again each hour', async () => {
    application.manager.monitors.add({ mail: { size: 2 } });
    await application.bus.bulk([new Monitored(), new Monitored(), new Monitored()]);

    await watched(async () => {
      await elapse(application.clock, 11);
      expect(told).toEqual([
        { connectionName: 'memory', queue: 'mail', size: 3, wait: expect.any(Number), limit: { size: 2 } },
      ]);
      await elapse(application.clock, 600);
      expect(told).toHaveLength(1);
      await application.clock.advance('1h');
      await elapse(application.clock, 70);
      expect(told).toHaveLength(2);
    });
  });

  it('reports a queue that is too slow', async () => {
    application.manager.monitors.add({ mail: { wait: '5m' } }, 'memory');
    await application.bus.dispatch(new Monitored());

    await watched(async () => {
      await elapse(application.clock, 200);
      expect(told).toEqual([]);
      await elapse(application.clock, 200);
      expect(told).toEqual([expect.objectContaining({ queue: 'mail', size: 1, limit: { wait: 300 } })]);
      expect(told[0]!.wait).toBeGreaterThan(300);
    });
  });

  it('reports at the next check if a process ends before it has reported', async () => {
    application.manager.monitors.add({ mail: { size: 1 } });
    await application.bus.bulk([new Monitored(), new Monitored()]);
    const { records } = application.manager.driver() as MemoryConnection;
    const { replace } = records;
    let hasEnded = false;
    jest.spyOn(records, 'replace').mockImplementation(async (record, ...expected) => {
      const isNew = await replace.call(records, record, ...expected);
      if (record.kind !== 'busy' || hasEnded) return isNew;
      hasEnded = true;
      throw new Error('the process has ended');
    });

    await watched(async () => {
      await elapse(application.clock, 11);
      expect([hasEnded, told]).toEqual([true, []]);
      await elapse(application.clock, 600);
    });

    expect(told).toHaveLength(1);
  });

  it('reports again after a queue was fine in between', async () => {
    application.manager.monitors.add({ mail: { size: 1 } });
    const fill = () => application.bus.bulk([new Monitored(), new Monitored()]);
    await watched(async () => {
      await fill();
      await elapse(application.clock, 70);
      await application.manager.connection().clear('mail');
      await elapse(application.clock, 70);
      await fill();
      await elapse(application.clock, 70);
    });
    expect(told).toHaveLength(2);
  });

  it('reports to the program that set the limits, even if another program on the store checks first', async () => {
    const { clock } = application;
    const { memory, ...others } = { ...builtInConnectors, memory: () => store.duplicate() };
    const store = application.manager.driver() as MemoryConnection;
    const connections = { memory: { driver: 'memory' } as const };
    const second = new QueueManager(
      { connectors: { ...others, memory }, logger: silentLogger, clock },
      { connections },
    );
    second.monitors.add({ mail: { size: 1 } });
    second.hooks.on('busy', (event) => void told.push(event));
    await application.bus.bulk([new Monitored(), new Monitored()]);

    await watched(async () => {
      const watcher = new Worker({ queue: 'other' }, second);
      const running = watcher.run();
      await elapse(clock, 75);
      await watcher.stop();
      await running;
    });

    expect(told).toHaveLength(1);
    await second.close();
  });

  it('does not count delayed jobs', async () => {
    application.manager.monitors.add({ mail: { size: 1 } });
    await application.bus.dispatch(new Monitored()).delay('1d');
    await application.bus.dispatch(new Monitored()).delay('1d');
    await watched(() => elapse(application.clock, 70));
    expect(told).toEqual([]);
  });

  it('checks once a minute, however many workers there are', async () => {
    // No new hour begins meanwhile, for which one more would look.
    await application.clock.advance(`${HOUR_MS - (application.clock.now() % HOUR_MS)}ms`);
    await application.bus.dispatch(new Monitored());
    const counts = jest.spyOn(application.manager.driver().queues, 'counts');
    await watched(() => elapse(application.clock, 185));
    const { queues } = await application.manager.connection().figures({ queue: 'mail' });
    const { samples } = queues[0]!;
    expect(samples.length).toBeLessThanOrEqual(4);
    expect(samples.map(({ ready, delayed }) => ({ ready, delayed }))).toEqual(
      samples.map(() => ({ ready: 1, delayed: 0 })),
    );
    // One more looks, once an hour, for queues that nobody uses any more.
    expect(counts.mock.calls).toHaveLength(samples.length + 1);
  });

  it('checks the other queues if one cannot be counted, and warns', async () => {
    const driver = application.manager.driver();
    const { counts } = driver.queues;
    jest.spyOn(driver.queues, 'counts').mockImplementation(async (queue) => {
      if (queue === 'foreign') throw new TypeError('it is a string');
      return counts(queue);
    });
    application.manager.monitors.add({ foreign: { size: 1 }, mail: { size: 1 } });
    await application.bus.bulk([new Monitored(), new Monitored()]);

    await watched(() => elapse(application.clock, 70));

    expect(told).toMatchObject([{ queue: 'mail', size: 2 }]);
    const { queues } = await application.manager.connection().figures({ queue: 'mail' });
    expect(queues[0]!.samples[0]).toMatchObject({ ready: 2 });
    expect(application.log.messages('warn').join('\n')).toContain('it is a string');
  });

  it('warns when a worker starts that nothing is monitored without metrics', async () => {
    await application.manager.close();
    application = testApplication({ metrics: false });
    application.manager.monitors.add({ mail: { size: 1 } });
    await watched(async () => undefined);
    expect(application.log.messages('warn')).toContain("Queue.monitor() sees nothing of 'memory': `metrics` is false.");
  });

  it.each([
    ['something that is not an object', 5, /takes an object of limits/],
    ['a queue without limits', { mail: {} }, /mail has neither size nor wait/],
    ['an unknown limit', { mail: { size: 1, length: 2 } }, /mail.length is not a limit/],
    ['a size that is not a number', { mail: { size: '10' } }, /mail.size must be a whole number/],
    ['a wait of zero', { mail: { wait: 0 } }, /mail.wait must be more than 0/],
    ['an invalid wait', { mail: { wait: 'long' } }, /wait of Queue.monitor/],
    ['a list of queues', { 'mail,other': { size: 1 } }, /one queue/],
  ])('refuses %s', (_, limits, message) => {
    expect(() => application.manager.monitors.add(limits as never)).toThrow(message);
  });
});

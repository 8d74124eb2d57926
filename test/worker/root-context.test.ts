/** What outlives its caller does not keep the caller's async context: its transaction, its tenant, its trace. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Socket } from 'node:net';
import { Job, Queue, Worker } from 'onqueue';
import { TestClock } from 'onqueue/testing';
import { Lane } from '../../src/connections/kit/lane';
import { MemoryConnection } from '../../src/connections/memory/connection';
import { MemoryStore } from '../../src/connections/memory/store';
import { QueueManager } from '../../src/application/queue-manager';
import { builtInConnectors } from '../../src/connections/built-in';
import { RecordListeners } from '../../src/connections/kit/record-listeners';
import { Live } from '../../src/dashboard/live';
import type { PageContext } from '../../src/dashboard/view';
import { Deadline, Deadlines } from '../../src/base/clock';
import { Gate, RecordingLogger } from '../support/application';
import { freePort } from '../support/redis-server';
import { meantToPass } from '../support/meant-to-pass';

const tenant = new AsyncLocalStorage<string>();

/** `what: tenant` for everything that looked. */
let seen: string[];
const look = (what: string): void => void seen.push(`${what}: ${tenant.getStore() ?? 'none'}`);

let ended: Gate;

@Job({ afterCommit: true })
class Child extends Job {
  handle(): void {
    look('Child');
    ended.open();
  }
}

@Job()
class Parent extends Job {
  async handle(): Promise<void> {
    look('Parent');
    await Child.dispatch();
  }
}

@Job()
class Failing extends Job {
  handle(): void {
    throw new Error('it fails');
  }
  failed(): void {
    look('failed()');
  }
}

@Job({ timeout: 0 })
class Stubborn extends Job {
  async handle(): Promise<void> {
    this.signal.addEventListener('abort', () => look('abort'));
    ended.open();
    await new Promise((resolve) => this.signal.addEventListener('abort', resolve));
  }
}

@Job()
class Report extends Job {
  handle(): void {
    look('Report');
  }
}

beforeEach(() => {
  seen = [];
  ended = new Gate();
});

afterEach(() => Queue.close());

describe('a worker', () => {
  beforeEach(() => Queue.configure({ connections: { main: { driver: 'memory' } }, logger: new RecordingLogger() }));

  test('that was started in a transaction has nothing to do with its rollback', async () => {
    const begun = Queue.transaction(async () => {
      void new Worker().run();
      throw new Error('this request is rolled back');
    });
    await expect(begun).rejects.toThrow('rolled back');

    await Parent.dispatch();
    await ended.opened;
    expect(seen).toEqual(['Parent: none', 'Child: none']);
  });

  test('that was started in an open transaction does not wait for its commit', async () => {
    const open = new Gate();
    const request = Queue.transaction(async () => {
      void new Worker().run();
      await open.opened;
    });

    await Parent.dispatch();
    await ended.opened;
    open.open();
    await request;
    expect(seen).toEqual(['Parent: none', 'Child: none']);
  });

  test('runs jobs, failed() and hooks in no context but its own', async () => {
    Queue.starting(() => look('starting'));
    Queue.looping(() => look('looping'));
    Queue.before(() => look('before'));
    Queue.after(() => look('after'));
    Queue.failing(() => look('failing'));
    Queue.stopping(() => look('stopping'));
    Queue.onError(() => look('onError'));
    Queue.after(() => {
      throw new Error('a hook that throws');
    });
    const worker = tenant.run('acme', () => new Worker({ stopWhenEmpty: true }));
    await tenant.run('acme', async () => {
      await Report.dispatch();
      await Failing.dispatch();
      await worker.run();
    });

    expect([...new Set(seen)].toSorted()).toEqual(
      ['Report', 'after', 'before', 'failed()', 'failing', 'looping', 'onError', 'starting', 'stopping'].map(
        (what) => `${what}: none`,
      ),
    );
  });

  test('ends its jobs in its own context, whoever stops it', async () => {
    const worker = new Worker({ grace: 0 });
    void worker.run();
    await Stubborn.dispatch();
    await ended.opened;

    await tenant.run('acme', () => worker.stop());
    expect(seen).toEqual(['abort: none']);
  });
});

test('a worker of another application stays with it', async () => {
  const connectors = {
    ...builtInConnectors,
    memory: (_config: unknown, { name }: { readonly name: string }) => {
      look('connector');
      return new MemoryConnection(name, new MemoryStore(name, manager.clock));
    },
  };
  const logger = new RecordingLogger();
  const manager = new QueueManager({ connectors, logger }, { connections: { own: { driver: 'memory' } } });
  await tenant.run('acme', async () => {
    await manager.connection().push(new Parent());
    await new Worker({ stopWhenEmpty: true }, manager).run();
  });

  expect(seen).toEqual(['connector: none', 'Parent: none', 'Child: none']);
  await manager.close();
});

test('schedules are sent, and a fake runs jobs, as if nobody had asked for it', async () => {
  Queue.createPayloadUsing(() => {
    look('payload');
    return {};
  });
  Queue.schedule(() => new Report()).every('1h');
  using queue = Queue.fake({ clock: new TestClock(new Date('2027-01-01T00:30:00Z')) });
  await tenant.run('acme', async () => {
    await queue.advance('1h');
    await queue.drain();
  });

  queue.assertPushedTimes(Report, 1);
  expect(seen).toEqual(['payload: none', 'Report: none']);
});

test('a lane sends what came later in no context of whoever came first', async () => {
  const open = new Gate();
  const sent = new Gate();
  const lane = new Lane<{ readonly name: string; readonly reject: () => void }>({
    carry: async ([item]) => {
      look(item!.name);
      if (item!.name === 'second') sent.open();
      await open.opened;
    },
    fitting: () => 1,
  });
  tenant.run('acme', () => lane.send({ name: 'first', reject: () => undefined }));
  tenant.run('globex', () => lane.send({ name: 'second', reject: () => undefined }));
  open.open();
  await sent.opened;

  expect(seen).toEqual(['first: acme', 'second: none']);
});

test('what several share goes on in no context of whoever began it', async () => {
  const clock = new TestClock();
  const deadlines = new Deadlines(clock);
  const listeners = new RecordListeners(clock, { join: () => (look('notifications'), true), close: () => undefined });
  const live = new Live(clock);
  const page = { viewer: { role: 'viewer' }, here: '/' } as PageContext;
  tenant.run('acme', () => {
    deadlines.set(new Deadline(() => look('deadline')), 1000);
    listeners.listen('result', () => undefined).stop();
    live.watch(page, async () => {
      look('page');
      throw new Error('that is enough');
    })({ send: () => true, end: () => undefined });
  });
  await clock.advance('3s');

  expect([...new Set(seen)]).toEqual(['notifications: none', 'deadline: none', 'page: none']);
  live.close();
});

test.each(['redis', 'postgres', 'mysql', 'beanstalk'])(
  'the first caller of %s opens connections that keep nothing of it',
  async (scheme) => {
    const connect = jest.spyOn(Socket.prototype, 'connect').mockImplementation(function (this: Socket) {
      look('connect');
      process.nextTick(() => this.destroy(new Error('refused by the test')));
      return this;
    });
    const url = `${scheme}://127.0.0.1:${await freePort()}`;
    const deadline = meantToPass(0.2);
    Queue.configure({
      connections: {
        main:
          scheme === 'redis'
            ? { driver: 'redis', url, deadline }
            : scheme === 'beanstalk'
              ? { driver: 'beanstalkd', url, deadline }
              : { driver: 'database', url: `${url}/none`, deadline },
      },
      failed: 'main',
    });
    await tenant.run('acme', () => Report.dispatch().catch(() => undefined));

    expect([...new Set(seen)]).toEqual(['connect: none']);
    connect.mockRestore();
  },
);

import { AsyncLocalStorage } from 'node:async_hooks';
import { Bus, type Connector, Job, Queue, Worker } from 'onqueue';
import type { FakeQueue } from 'onqueue/testing';
import { defaultManager } from '../../src/application/default-manager';
import { KeptLog } from '../support/watched-application';
import { Mailer, MakeReport, RunScript, seen, SendWelcome } from './jobs';

/** None of these stores can be reached, so whatever touches one fails. */
const connections = {
  main: { driver: 'redis', url: 'redis://127.0.0.1:1', deadline: '60s', queue: 'standard', retryAfter: '1m' },
  archive: { driver: 'database', url: 'sqlite:/nowhere/at/all.sqlite' },
  nothing: { driver: 'null' },
  sync: { driver: 'sync' },
} as const;

let queue: FakeQueue | undefined;

afterEach(async () => {
  queue?.restore();
  queue = undefined;
  seen.length = 0;
  RunScript.script = () => undefined;
  await Queue.close();
});

describe('a fake of a configured program', () => {
  it('has all its connections with their queues, and touches no store', async () => {
    Queue.configure({ default: 'main', connections });
    queue = Queue.fake();

    await MakeReport.dispatch('a');
    for (const name of ['archive', 'nothing', 'sync']) await MakeReport.dispatch(name).onConnection(name);

    expect(queue.pushed(MakeReport).map(({ connection, queue }) => [connection, queue])).toEqual([
      ['main', 'standard'],
      ['archive', 'default'],
      ['nothing', 'default'],
      ['sync', 'default'],
    ]);
    expect(await Queue.size()).toBe(1);
    expect(seen).toEqual([]);
  });

  it('refuses a connection that the program does not have', async () => {
    Queue.configure({ default: 'main', connections });
    queue = Queue.fake();

    await expect(MakeReport.dispatch().onConnection('other')).rejects.toMatchObject({ code: 'E_UNKNOWN_CONNECTION' });
  });

  it('never calls custom connectors, whenever they are added', async () => {
    const connector = jest.fn() as unknown as Connector<never>;
    Queue.addConnector('redis2' as never, connector);
    Queue.configure({ default: 'first', connections: { first: { driver: 'redis2' } } } as never);
    queue = Queue.fake();
    Queue.addConnector('other' as never, connector);
    await MakeReport.dispatch();
    Queue.configure({ default: 'second', connections: { second: { driver: 'other' } } } as never);
    await MakeReport.dispatch();

    expect(queue.pushes.map(({ connection }) => connection)).toEqual(['first', 'second']);
    expect(connector).not.toHaveBeenCalled();
  });

  it('still runs dispatchSync and dispatchNow, which push nothing', async () => {
    const mailer = { send: async (to: string) => `sent to ${to}` };
    queue = Queue.fake({ stubs: [[Mailer, mailer]] });

    expect(await SendWelcome.dispatchSync('ada@example.org')).toBe('sent to ada@example.org');
    expect(await SendWelcome.dispatchNow('bob@example.org')).toBe('sent to bob@example.org');
    queue.assertNothingPushed();
  });

  it("keeps the program's hooks, payload fields, error callbacks and mapped commands", async () => {
    const heard: unknown[] = [];
    Queue.configure({ connections: { main: { driver: 'memory' } } });
    Queue.createPayloadUsing(() => ({ tenant: 7 }));
    Queue.before(({ job }) => void heard.push(['before', job.payload['tenant']]));
    Queue.looping(() => false);
    Queue.onError((error) => void heard.push(error));
    class Command {}
    class CommandHandler {
      handle(): string {
        return 'handled';
      }
    }
    Bus.map([[Command, CommandHandler]]);
    queue = Queue.fake();

    await MakeReport.dispatch();
    await queue.drain({ queue: 'default' });
    await MakeReport.dispatch('vetoed');
    await new Worker({ stopWhenEmpty: true }).run();
    defaultManager().report('unheard', { during: 'a test' });

    expect(await Bus.dispatch(new Command())).toBe('handled');
    expect(heard).toEqual([['before', 7], 'unheard']);
  });

  it('drops hooks that were added during the fake', () => {
    Queue.configure({ connections: { main: { driver: 'memory' } } });
    queue = Queue.fake();
    Queue.before(() => undefined);

    queue.restore();

    expect(defaultManager().hooks.hears.before).toBe(false);
  });

  it("logs to the program's logger", async () => {
    const logger = new KeptLog();
    Queue.configure({ connections: { main: { driver: 'memory' } }, logger });
    queue = Queue.fake();

    await MakeReport.dispatch();
    await new Worker({ stopWhenEmpty: true }).run();

    expect(logger.messages('info')).toContain('MakeReport completed');
  });

  it("uses the program's container", async () => {
    const container = { resolve: () => ({ send: async () => 'by the container' }) };
    Queue.configure({ connections: { main: { driver: 'redis' } }, container });
    queue = Queue.fake();

    await SendWelcome.dispatch('ada@example.org');
    const { completed } = await queue.drain();

    expect(completed.map(({ value }) => value)).toEqual(['by the container']);
  });
});

describe('a program under a fake', () => {
  it('may be reconfigured with another container', async () => {
    const containerOf = (text: string) => ({ resolve: () => ({ send: async () => text }) });
    queue = Queue.fake({ stubs: [['unused', {}]] });
    Queue.configure({ default: 'main', connections, container: containerOf('first') });
    expect(await SendWelcome.dispatchSync('ada@example.org')).toBe('first');

    Queue.configure({ default: 'main', connections, container: containerOf('second') });

    expect(await SendWelcome.dispatchSync('ada@example.org')).toBe('second');
  });

  it('may configure itself and is still faked', async () => {
    queue = Queue.fake();
    Queue.configure({ default: 'main', connections });

    await MakeReport.dispatch();

    expect(queue.pushes.map(({ connection }) => connection)).toEqual(['main']);
  });

  it('may close itself, and its jobs can still be asserted and run', async () => {
    const container = { resolve: () => ({ send: async () => 'sent' }) };
    queue = Queue.fake();
    Queue.configure({ default: 'main', connections, container });
    await SendWelcome.dispatch('ada@example.org');
    void MakeReport.dispatch();
    await Queue.close();

    queue.assertPushed(SendWelcome);
    queue.assertPushed(MakeReport);
    expect((await queue.drain()).completed.map(({ name }) => name)).toEqual([
      'SendWelcome',
      'MakeReport',
      'SendReport',
    ]);
    await MakeReport.dispatch();
    queue.assertPushed(MakeReport, 2);
  });

  it('runs its workers on the clock of the test', async () => {
    queue = Queue.fake();
    await MakeReport.dispatch('late').delay('10m');
    const worker = new Worker();
    const running = worker.run();

    await queue.advance('9m');
    expect(seen).toEqual([]);
    await queue.advance('1m');
    expect(seen).toEqual(['report late']);

    await worker.stop();
    expect(await running).toBe('stopped');
  });

  it('finds and retries its failed jobs as usual', async () => {
    queue = Queue.fake();
    RunScript.script = () => {
      throw new Error('broken');
    };
    await RunScript.dispatch();
    await queue.drain();
    const [failed] = await Queue.failed.list();
    RunScript.script = () => 'mended';

    expect(failed).toMatchObject({ name: 'RunScript', exception: expect.stringContaining('broken') });
    expect(await Queue.failed.retry('all')).toBe(1);
    expect((await queue.drain()).completed).toMatchObject([{ name: 'RunScript', value: 'mended' }]);
    queue.assertCount(1);
  });
});

describe('restoring a fake', () => {
  it('brings back the previous manager', () => {
    const manager = defaultManager();
    queue = Queue.fake();
    expect(defaultManager()).toBe(queue.manager);
    expect(defaultManager()).not.toBe(manager);

    queue.restore();
    queue.restore();

    expect(defaultManager()).toBe(manager);
  });

  it('starts with a new manager if there was none before', async () => {
    await Queue.close();
    queue = Queue.fake();
    const faked = defaultManager();

    queue.restore();

    expect(defaultManager()).not.toBe(faked);
    expect(defaultManager().clock).not.toBe(queue.clock);
  });

  it('happens at the end of a block with using', async () => {
    const manager = defaultManager();
    {
      using faked = Queue.fake();
      expect(defaultManager()).toBe(faked.manager);
    }
    expect(defaultManager()).toBe(manager);
  });

  it('leaves the pushed jobs to be asserted and run, without reaching a real store', async () => {
    queue = Queue.fake();
    await MakeReport.dispatch();
    queue.restore();

    queue.assertPushed(MakeReport, 1);
    expect((await queue.drain()).completed).toMatchObject([{ name: 'MakeReport' }, { name: 'SendReport' }]);
  });

  it('is required before another fake, and the error shows where the first one was made', () => {
    queue = Queue.fake();

    expect(() => Queue.fake()).toThrow(
      expect.objectContaining({
        code: 'E_ALREADY_FAKED',
        cause: expect.objectContaining({ stack: expect.stringContaining(__filename) }),
      }),
    );
    queue.assertNothingPushed();
  });

  it('lets the next fake start empty', async () => {
    queue = Queue.fake();
    await MakeReport.dispatch();
    queue.restore();

    queue = Queue.fake();

    queue.assertNothingPushed();
    expect(await Queue.size()).toBe(0);
  });
});

describe('a dispatch under a fake that is not awaited', () => {
  it('is asserted once, in its own async context', async () => {
    queue = Queue.fake();
    const tenant = new AsyncLocalStorage<string>();
    Queue.createPayloadUsing(() => ({ tenant: tenant.getStore() }));
    @Job()
    class Invoice extends Job {
      handle(): void {
        // Never run.
      }
    }

    tenant.run('museum', () => void Invoice.dispatch());
    queue.assertPushedTimes(Invoice, 1);
    await queue.manager.outbox.flush();

    expect(queue.pushed(Invoice).map(({ payload }) => payload['tenant'])).toEqual(['museum']);
  });
});

describe('a failing dispatch under a fake that is not awaited', () => {
  it('is reported as in production', async () => {
    const heard: unknown[] = [];
    queue = Queue.fake();
    Queue.onError((error) => void heard.push(error));
    @Job()
    class Unsendable extends Job {
      readonly callback = () => undefined;
    }

    void Unsendable.dispatch();
    queue.assertNotPushed(Unsendable);

    await queue.manager.outbox.flush();
    expect(heard).toEqual([expect.objectContaining({ code: 'E_UNSERIALIZABLE_VALUE' })]);
  });
});

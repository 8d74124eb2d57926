import { AsyncLocalStorage } from 'node:async_hooks';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import type { JobContext } from '../../src/job/job-context';
import { Middleware } from '../../src/job/middleware';
import type { QueueConnection } from '../../src/dispatch/queue-connection';
import { watchedApplication, type WatchedApplication } from '../support/watched-application';

@Job({ delay: '1m' })
class Report extends Job {
  constructor(public title: unknown) {
    super();
  }
}

@Middleware()
class Limit implements Middleware {
  constructor(readonly most: number) {}

  handle(_job: JobContext, next: () => Promise<unknown>): unknown {
    return next();
  }
}

class Unregistered implements Middleware {
  handle(_job: JobContext, next: () => Promise<unknown>): unknown {
    return next();
  }
}

@Job()
class PushesItself extends Job {
  async queue(connection: QueueConnection): Promise<void> {
    await connection.pushRaw('{"id":"1"}', 'own');
  }
}

function given(): WatchedApplication & { bus: JobBus } {
  const app = watchedApplication({
    default: 'main',
    connections: { main: { driver: 'memory' }, other: { driver: 'memory', queue: 'others' } },
  });
  return { ...app, bus: new JobBus(() => app.manager) };
}

const broken = (): Report => new Report(() => 'a function');

afterEach(() => jest.useRealTimers());

const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe('a dispatch', () => {
  it.each([null, undefined])('is refused with a delay of %p, and sends nothing', async (delay) => {
    const { bus, watched } = given();
    const dispatch = bus.dispatch(new Report('x')).delay(delay as never);

    await expect(dispatch).rejects.toThrow(`the delay of Report: ${delay} is not a duration`);
    expect(watched().pushes).toEqual([]);
  });

  it('resolves with the id, and is sent only once however often it is awaited', async () => {
    const { bus, watched } = given();
    const pending = bus.dispatch(new Report('a')).withoutDelay();

    const ids = [await pending, await pending, await pending.then((id) => id), await pending.finally(() => undefined)];

    expect(new Set(ids).size).toBe(1);
    expect(await watched().payloads('default')).toMatchObject([{ id: ids[0] }]);
  });

  it('is sent a microtask later if nobody awaits it', async () => {
    const { bus, watched } = given();
    void bus.dispatch(new Report('a')).onQueue('x').withoutDelay();
    expect(watched().pushes).toEqual([]);

    await turn();

    expect(watched().pushes).toMatchObject([{ queue: 'x' }]);
  });

  it('is sent even under fake timers', async () => {
    const { bus, manager, watched } = given();
    jest.useFakeTimers();

    void bus.dispatch(new Report('a'));
    const id = await bus.dispatch(new Report('b'));
    await manager.outbox.flush();

    expect(id).toEqual(expect.any(String));
    expect(watched().pushes).toHaveLength(2);
  });

  it('is sent in the order it was made, awaited or not', async () => {
    const { bus, watched } = given();

    void bus.dispatch(new Report('a')).withoutDelay();
    await bus.dispatch(new Report('b')).withoutDelay();

    expect(await watched().payloads('default')).toMatchObject([
      { data: { command: { title: 'a' } } },
      { data: { command: { title: 'b' } } },
    ]);
  });

  it('is sent before close() closes the connection even if nobody awaited it', async () => {
    const { bus, manager, watched } = given();
    const driver = watched();
    const gate = { open: (): void => undefined };
    driver.beforePush = () => new Promise<void>((resolve) => void (gate.open = resolve));
    void bus.dispatch(new Report('a'));

    const closing = manager.close();
    await turn();
    gate.open();
    await closing;

    expect(driver.pushes).toHaveLength(1);
  });

  it('chooses connection, queue and delay with precedence over the instance and @Job', async () => {
    const { bus, watched } = given();

    await bus.dispatch(new Report('a').onQueue('own').delay('2m')).onConnection('other').onQueue('x').delay('3m');
    await bus.dispatch(new Report('b').delay('2m')).onConnection('other').withoutDelay();
    await bus.dispatch(new Report('c')).onConnection('other');

    expect(watched('other').pushes.map(({ queue, entries }) => [queue, entries[0]?.delay])).toEqual([
      ['x', 180],
      ['others', undefined],
      ['others', 60],
    ]);
  });

  it('can join a transaction of the user', async () => {
    const { bus, watched } = given();
    const pushed: string[] = [];
    const within = (transaction: unknown): object | undefined =>
      transaction === 'open' ? { push: async (queue: string) => void pushed.push(queue) } : undefined;
    Object.assign(watched(), { within });

    await bus.dispatch(new Report('a')).using('open').onQueue('x');
    await bus.dispatch(new Report('b')).afterCommit().using('open').withoutDelay();
    await bus.dispatch(new PushesItself()).using('open');

    expect(pushed).toEqual(['x', 'default', 'own']);
    expect(watched().pushes).toEqual([]);
    await expect(bus.dispatch(new Report('c')).using('other')).rejects.toMatchObject({ code: 'E_UNKNOWN_TRANSACTION' });
    await expect(bus.dispatch(new Report('d')).onConnection('other').using('open')).rejects.toMatchObject({
      code: 'E_CAPABILITY',
    });
  });

  it('encodes its data when it is sent', async () => {
    const { bus, watched } = given();
    const job = new Report('before').withoutDelay();
    const pending = bus.dispatch(job);

    job.title = 'after';
    await pending;
    job.title = 'too late';
    await pending;

    expect(await watched().payloads('default')).toMatchObject([{ data: { command: { title: 'after' } } }]);
  });

  it('is sent in the async context in which it was made, whatever else is dispatched in the same turn', async () => {
    const { bus, manager, watched } = given();
    const tenant = new AsyncLocalStorage<string>();
    manager.createPayloadUsing(() => ({ tenant: tenant.getStore() }));
    const dispatched = (name: string): Promise<string> =>
      tenant.run(name, () => bus.dispatch(new Report(name)).withoutDelay());

    await Promise.all([
      dispatched('museum'),
      dispatched('bank'),
      // Its own catch(), called outside the context and at once.
      dispatched('school').catch(() => undefined),
    ]);

    expect((await watched().payloads('default')).map(({ tenant: carried }) => carried)).toEqual([
      'museum',
      'bank',
      'school',
    ]);
  });

  it('carries middleware as data', async () => {
    const { bus, watched } = given();

    await bus.dispatch(new Report('a')).withoutDelay().through(new Limit(3)).through(new Limit(4));

    const [payload] = await watched().payloads('default');
    expect(JSON.stringify(payload)).toMatch(/"most":3.*"most":4/);
  });

  it.each([
    [() => new Unregistered(), /an instance of Unregistered, .* Add @Middleware\(\) above class Unregistered/],
    [() => Limit as unknown as Limit, /the class Limit, .* Give it an instance: new Limit/],
    [
      () => ((_job: unknown, next: () => unknown) => next()) as unknown as Limit,
      /a function, .*class with @Middleware/,
    ],
  ])('refuses middleware that cannot travel: %p', async (middleware, message) => {
    const { bus } = given();

    await expect(bus.dispatch(new Report('a')).through(middleware())).rejects.toThrow(message);
  });

  it('refuses a builder call after it was sent', async () => {
    const { bus } = given();
    const forgotten = bus.dispatch(new Report('a'));
    await turn();
    const awaited = bus.dispatch(new Report('a'));
    await awaited;

    expect(() => forgotten.onQueue('x')).toThrow(
      'This Report was already sent (it was not awaited); call onQueue() before the first await.',
    );
    expect(() => awaited.delay('1s')).toThrow('This Report was already sent; call delay() before the first await.');
  });

  it('shows its queue and state when it is printed', async () => {
    const { bus } = given();
    const pending = bus.dispatch(new Report('a')).onQueue('mails');
    const failing = bus.dispatch(broken()).onConnection('other');
    const texts = [inspect(pending), inspect(failing)];
    await failing.catch(() => undefined);

    const id = await pending;

    expect(texts).toEqual([
      'PendingDispatch(Report → mails, not awaited, no id yet)',
      'PendingDispatch(Report → others, not awaited, no id yet)',
    ]);
    expect([inspect(pending), inspect(failing)]).toEqual([
      `PendingDispatch(Report → mails, id ${id})`,
      'PendingDispatch(Report → others, failed)',
    ]);
  });
});

// Jest fails a test with an unhandled rejection by itself.
describe('a dispatch that fails', () => {
  it('rejects where it is awaited and is reported nowhere else', async () => {
    const { bus, manager, log } = given();
    const heard = jest.fn();
    manager.onError(heard);

    await expect(bus.dispatch(broken())).rejects.toMatchObject({ code: 'E_UNSERIALIZABLE_VALUE' });
    await expect(Promise.all([bus.dispatch(broken()), Promise.resolve()])).rejects.toMatchObject({
      code: 'E_UNSERIALIZABLE_VALUE',
    });
    await bus.dispatch(broken()).catch(() => undefined);
    await turn();

    expect(heard).not.toHaveBeenCalled();
    expect(log.texts).toEqual([]);
  });

  it('shows in its stack where it was called', async () => {
    const { bus } = given();
    const hopeful = (): PromiseLike<string> => bus.dispatch(broken());
    const failure: unknown = await Promise.resolve(hopeful()).catch((error: unknown) => error);

    const { message, stack } = failure as Error;
    expect(stack).toContain(message);
    expect(stack?.match(/ at .*hopeful /g)).toHaveLength(1);
  });

  const forgotten = async (environment: string): Promise<Record<string, string>> => {
    const hook = join(__dirname, '../support/register-typescript.cjs');
    const program = join(__dirname, 'programs/forgotten-dispatch.ts');
    const env = { ...process.env, NODE_ENV: environment };
    const { stdout } = await promisify(execFile)(process.execPath, ['--require', hook, program], { env });
    return JSON.parse(stdout) as Record<string, string>;
  };

  it('without an await is an unhandled rejection that names the job', async () => {
    expect(await forgotten('production')).toMatchObject({
      code: 'E_UNAWAITED_DISPATCH',
      message: expect.stringMatching(
        /^Report could not be dispatched, .* await it, or set Queue\.onError\.$/,
      ) as string,
      cause: 'E_UNSERIALIZABLE_VALUE',
    });
  });

  it('without an await has a stack that begins at the dispatch', async () => {
    const { message, stack } = await forgotten('development');
    const [head, first] = (stack ?? '').split('\n');
    expect(head).toBe(`OnqueueError: ${message}`);
    expect(first).toMatch(/at forgetful \(.*forgotten-dispatch\.ts:\d+/);
  });

  it('does not capture a stack in production', async () => {
    expect((await forgotten('production'))['stack']).not.toContain('forgetful');
  });

  it('is handled if it is awaited later in the same turn', async () => {
    const { bus } = given();
    const pending = bus.dispatch(broken());
    for (let microtasks = 0; microtasks < 20; microtasks += 1) await Promise.resolve();

    await expect(pending).rejects.toMatchObject({ code: 'E_UNSERIALIZABLE_VALUE' });
    await turn();
  });

  it('is reported to Queue.onError once, but only logged if an onError callback made it, which could go on for ever', async () => {
    const { bus, manager, log } = given();
    const heard: unknown[] = [];
    const later = Promise.resolve();
    const off = manager.onError(async (error) => {
      if (heard.push(error) === 100) off(); // ends the test even if the dispatches are reported
      void bus.dispatch(broken());
      await later;
      void bus.dispatch(broken());
    });

    void bus.dispatch(broken());
    await turn();

    expect(heard).toHaveLength(1);
    expect(log.texts).toHaveLength(2);
    expect(log.texts[0]).toMatch(/^error: a dispatch that was not awaited: Report\.title is a function/);

    void bus.dispatch(broken());
    await turn();
    expect(heard).toHaveLength(2);
  });

  it('without an await is reported to Queue.onError with the job and its destination', async () => {
    const { bus, manager } = given();
    const heard = jest.fn();
    manager.onError(heard);

    void bus.dispatch(broken().onQueue('mails')).onConnection('other');
    await turn();

    expect(heard).toHaveBeenCalledTimes(1);
    expect(heard).toHaveBeenCalledWith(expect.objectContaining({ code: 'E_UNSERIALIZABLE_VALUE' }), {
      during: 'a dispatch that was not awaited',
      name: 'Report',
      connection: 'other',
      queue: 'mails',
    });
  });

  it('is refused when it is sent if a builder call was invalid', async () => {
    const { bus } = given();

    await expect(bus.dispatch(new Report('a')).delay('soon' as '1s')).rejects.toMatchObject({
      code: 'E_INVALID_DURATION',
    });
    for (const connection of ['nowhere', 5 as never])
      await expect(bus.dispatch(new Report('a')).onConnection(connection)).rejects.toMatchObject({
        code: 'E_UNKNOWN_CONNECTION',
      });
  });
});

describe('a dispatch whose condition did not hold', () => {
  it('accepts every builder call and resolves with undefined', async () => {
    const { bus, watched } = given();
    const none = bus.none().onConnection('x').onQueue('y').delay('1s').withoutDelay().through(new Limit(1));

    expect([await none, await none.catch(() => 'no'), await none.finally(() => undefined)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(inspect(none)).toBe('PendingDispatch(nothing: its condition did not hold)');
    expect(watched().pushes).toEqual([]);
  });
});

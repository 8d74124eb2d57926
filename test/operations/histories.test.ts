import { Job } from '../../src/job/job';
import { Queue } from '../../src/application/queue';
import type { FoundJob } from '../../src/operations/found-job';
import { QueueUnavailableError, type Unavailability } from '../../src/connections/errors';
import { Worker } from '../../src/worker/worker';
import { eventually } from '../support/eventually';
import { elapse, Gate, testApplication, type TestApplication, until } from '../support/application';
import { payloadOf } from '../support/reservation';
import { reserveFrom } from '../support/exchange';

let application: TestApplication;
let thrown: () => unknown;

beforeEach(() => {
  application = testApplication();
  thrown = () => new Error('the postman is ill');
});

afterEach(() => application.manager.close());

@Job({ tries: 3 })
class Deliver extends Job {
  handle(): void {
    throw thrown();
  }
}

@Job()
class Waits extends Job {
  handle(): Promise<void> {
    const gate = new Gate();
    this.signal.addEventListener('abort', gate.open);
    this.job.stopping.addEventListener('abort', gate.open);
    return gate.opened;
  }
}

@Job()
class Reports extends Waits {
  override handle(): Promise<void> {
    this.job.progress(0.1);
    Queue.progress(0.4, 'resizing');
    return super.handle();
  }
}

@Job()
class Quick extends Job {
  handle(): void {
    // It does nothing.
  }
}

const work = (manager = application.manager): Promise<string> => new Worker({ stopWhenEmpty: true }, manager).run();

const find = (id: string): Promise<FoundJob> => application.manager.connection().find(id);

it('a history shows each failed attempt: when, how long, where, and the lines of source around the place', async () => {
  const id = await application.bus.dispatch(new Deliver());

  await work();

  const { state, history } = await find(id);
  expect(state).toBe('failed');
  expect(history.map(({ attempt, outcome, error }) => ({ attempt, outcome, error }))).toEqual(
    [1, 2, 3].map((attempt) => ({ attempt, outcome: 'failed', error: 'Error: the postman is ill' })),
  );
  const [first] = history;
  expect(first).toMatchObject({ ms: 0, fence: 1, worker: expect.stringContaining(`:${process.pid}`) });
  expect(first?.at).toEqual(new Date(application.clock.now()));
  expect(first?.stack).toContain('the postman is ill');
  expect(first?.source).toMatchObject({ file: __filename });
  expect(first?.source?.lines.join('\n')).toContain("new Error('the postman is ill')");
  expect(first?.source?.lines).toHaveLength(7);
});

it('a history contains a crash once, recorded by the worker that takes over the job', async () => {
  const { manager, clock } = application;
  const driver = manager.driver();
  await driver.push('default', [{ payload: payloadOf(new Deliver()).toString() }]);
  await reserveFrom(driver, { queues: ['default'], limit: 1, lease: 30 });
  await clock.advance('31s');

  await work();

  const { history } = await find('the-id');
  expect(history.map(({ fence, outcome }) => [fence, outcome])).toEqual([
    [1, 'crashed'],
    [2, 'failed'],
    [3, 'failed'],
    [4, 'failed'],
  ]);
  expect(history[0]).toMatchObject({ attempt: 1, error: expect.stringContaining('worker died') });
});

it('a history contains a crash while the job runs again', async () => {
  const { manager, clock } = application;
  const driver = manager.driver();
  await driver.push('default', [{ payload: payloadOf(new Waits()).toString() }]);
  await reserveFrom(driver, { queues: ['default'], limit: 1, lease: 30 });
  await clock.advance('31s');
  const worker = new Worker({}, manager);
  const running = worker.run();
  await until(clock, () => worker.running.length === 1);

  await elapse(clock, 2);

  expect(await find('the-id')).toMatchObject({ state: 'running', history: [{ outcome: 'crashed', fence: 1 }] });
  await worker.stop();
  await running;
});

it('a history contains timeouts and attempts whose outcome came too late', async () => {
  const { manager, clock, bus } = application;
  const timedOut = await bus.dispatch(new Waits());
  const lost = await bus.dispatch(new Waits()).onQueue('cleared');
  const worker = new Worker({ queue: 'default,cleared', concurrency: 2, timeout: '10s' }, manager);
  const running = worker.run();
  await until(clock, () => worker.running.length === 2);
  await manager.connection().clear('cleared');

  await elapse(clock, 14);
  await worker.stop();
  await running;

  expect((await find(timedOut)).history).toMatchObject([
    { outcome: 'timed-out', ms: 10_000, error: expect.stringContaining('longer than its timeout') },
  ]);
  expect((await find(lost)).history).toMatchObject([{ outcome: 'lost' }]);
});

it.each([
  ['an hour', {}, '59m', '2m'],
  ['as long as the configuration says', { history: { completed: '2d' } }, '47h', '2h'],
] as const)('completed jobs are remembered for %s', async (_, configuration, first, rest) => {
  application = testApplication(configuration);
  const { bus, clock } = application;
  const id = await bus.dispatch(new Quick());

  await work();

  const completedAt = new Date(clock.now());
  expect(await find(id)).toMatchObject({
    state: 'completed',
    name: 'Quick',
    queue: 'default',
    completedAt,
    isSure: true,
    history: [{ attempt: 1, outcome: 'completed', at: completedAt }],
  });
  await clock.advance(first);
  expect(await find(id)).toMatchObject({ state: 'completed' });
  await clock.advance(rest);
  expect(await find(id)).toMatchObject({ state: 'unknown', history: [] });
});

it('of very many jobs that complete in a second a thousand are remembered, without a word', async () => {
  const { bus, clock, manager, log } = application;
  await bus.bulk(Array.from({ length: 1100 }, () => new Quick()));
  const worker = new Worker({ concurrency: 200 }, manager);
  const running = worker.run();
  await until(clock, () => worker.health().outcomes.completed === 1100);

  await elapse(clock, 5);

  expect(await manager.driver().records!.list('completed', { limit: 2000 })).toHaveLength(1000);
  expect(log.messages('warn')).toEqual([]);
  await worker.stop();
  await running;
});

it('a job counts as completed no more once its id is in a queue again, by a retry or as a text', async () => {
  const { bus, manager } = application;
  const connection = manager.connection();
  const records = manager.driver().records!;
  const isKept = async (id: string): Promise<boolean> => (await records.get('completed', id)) !== undefined;
  const failed = await bus.dispatch(new Deliver());
  await work();
  // Its store has delivered it twice.
  await records.put([{ kind: 'completed', id: failed, value: 'x' }], 60);
  await manager.failed.retry(failed);
  expect(await isKept(failed)).toBe(false);

  const text = (await connection.pushRaw('{"job":"Quick","data":null,"id":"again"}'))!;
  await records.put([{ kind: 'completed', id: text, value: 'x' }], 60);
  await connection.laterRaw('1m', '{"job":"Quick","data":null,"id":"again"}');

  expect(await isKept(text)).toBe(false);
});

it('a job is found as completed where its store cannot look for jobs, and refused while nothing is kept', async () => {
  const { bus, manager } = application;
  Object.assign(manager.driver().queues, { find: undefined });
  const id = await bus.dispatch(new Quick());
  await expect(find(id)).rejects.toMatchObject({ code: 'E_CAPABILITY' });

  await work();

  expect(await find(id)).toMatchObject({ state: 'completed', name: 'Quick' });
});

it('where no store keeps records, jobs complete and nothing is remembered', async () => {
  const { bus, manager, log } = application;
  Object.assign(manager.driver(), { records: undefined });
  const id = await bus.dispatch(new Quick());

  await work();

  expect(await find(id)).toMatchObject({ state: 'unknown' });
  expect(log.messages('warn')).toEqual([]);
  await expect(manager.connection().jobs('default', { state: 'completed' })).rejects.toMatchObject({
    code: 'E_NO_RECORDS',
  });
});

it.each([{ history: false }, { history: { completed: false } }] as const)(
  'with %j no completed job is kept',
  async (off) => {
    application = testApplication(off);
    const id = await application.bus.dispatch(new Quick());

    await work();

    expect(await find(id)).toMatchObject({ state: 'unknown', history: [] });
    await expect(application.manager.connection().jobs('default', { state: 'completed' })).rejects.toMatchObject({
      code: 'E_INVALID_LISTING',
      message: expect.stringContaining('The configuration turns off that they are kept'),
    });
  },
);

it('with history: false nothing is kept of attempts', async () => {
  application = testApplication({ history: false });
  const failing = await application.bus.dispatch(new Deliver());
  await work();
  expect(await find(failing)).toMatchObject({ state: 'failed', history: [] });
});

it('a history has no source lines if they are turned off', async () => {
  application = testApplication({ history: { sourceLines: false } });
  const id = await application.bus.dispatch(new Deliver());

  await work();

  expect((await find(id)).history[0]?.source).toBeUndefined();
});

const hostile: Readonly<Record<string, () => unknown>> = {
  'an error with a stack of a megabyte': () => Object.assign(new Error('x'), { stack: 'at line\n'.repeat(2 ** 17) }),
  'an error that caused itself': () => {
    const error = new Error('x');
    error.cause = error;
    return error;
  },
  'something that is not an error': () => ({ password: 'hunter2' }),
  nothing: () => undefined,
  'an error whose stack throws': () =>
    Object.defineProperty(new Error('x'), 'stack', {
      get: () => {
        throw new Error('not me');
      },
    }),
  'a message that looks like a frame': () => new Error('x\n    at read (/etc/hosts:1:1)\n    at /etc/hosts.js:1:1'),
};

it.each(Object.keys(hostile))('a history keeps %s in a few kilobytes', async (what) => {
  thrown = hostile[what]!;
  const id = await application.bus.dispatch(new Deliver());

  await work();

  const { history } = await find(id);
  expect(history.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'failed']);
  const text = (await application.manager.driver().records!.get('history', id))!;
  expect(Buffer.byteLength(text)).toBeLessThan(16 * 1024);
  expect(text).not.toContain('hunter2');
  expect(history[0]?.source?.file ?? __filename).toBe(__filename);
});

it('a history keeps the newest attempts of a job that has very many, the older ones without stacks', async () => {
  thrown = () => new Error('a long story '.repeat(200));
  const id = await application.bus.dispatch(new Deliver());

  await new Worker({ stopWhenEmpty: true }, application.manager).run();
  for (let again = 0; again < 30; again += 1) {
    await application.manager.failed.retry(id);
    await work();
  }

  const { history } = await find(id);
  const text = (await application.manager.driver().records!.get('history', id))!;
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16 * 1024);
  expect(history.at(-1)).toMatchObject({ attempt: 3, stack: expect.stringContaining('long story') });
  expect(history[0]?.stack).toBeUndefined();
  expect(history.length).toBeLessThan(93);
});

it('a lookup shows the latest progress of a running job within a second', async () => {
  const { manager, clock, bus } = application;
  const id = await bus.dispatch(new Reports());
  const worker = new Worker({}, manager);
  const running = worker.run();
  await until(clock, () => worker.running.length === 1);
  const at = new Date(clock.now());

  await elapse(clock, 2);

  expect(await find(id)).toMatchObject({ state: 'running', progress: { value: 0.4, text: 'resizing', at } });
  await worker.stop();
  await running;
});

it('an attempt without success leaves no progress, whether it failed, or its worker died in the next one', async () => {
  const { manager, clock, bus } = application;
  @Job({ tries: 9, backoff: '10m' })
  class Half extends Job {
    handle(): void {
      this.job.progress(0.5);
      throw new Error('the other half');
    }
  }
  const id = await bus.dispatch(new Half());
  await work();
  const afterFailure = await find(id);
  await clock.advance('10m');
  await reserveFrom(manager.driver(), { queues: ['default'], limit: 1, lease: 30 });
  const inNext = await find(id);
  expect([afterFailure, inNext].map(({ state, progress }) => [state, progress])).toEqual([
    ['delayed', undefined],
    ['running', undefined],
  ]);
  expect(await manager.driver().records!.get('progress', id)).toContain('0.5');
});

it.each([
  ['a string', '40', undefined],
  ['more than 1', 1.1, undefined],
  ['less than 0', -0.1, undefined],
  ['NaN', Number.NaN, undefined],
  ['a text that is too long', 0.5, 'x'.repeat(256)],
  ['a text of two lines', 0.5, 'two\nlines'],
  ['a number as text', 0.5, 7],
])('progress(%s) is refused', async (_, value, text) => {
  thrown = () => {
    Queue.progress(value as number, text as string);
    return 'it was taken';
  };
  const id = await application.bus.dispatch(new Deliver());

  await work();

  expect((await find(id)).history[0]?.error).toMatch(/^OnqueueError: The progress of Deliver: .* is not valid\./);
});

it('progress() is refused outside a job', () => {
  expect(() => Queue.progress(0.5)).toThrow(expect.objectContaining({ code: 'E_NO_JOB_RUNS' }));
});

it('a history delays no job while its store is away, and is written when the store is back', async () => {
  const { manager, clock, bus, log } = application;
  const unavailable = new QueueUnavailableError({
    store: 'Redis',
    address: 'here',
    consequence: 'nothing was written',
  } as Unavailability);
  const { records } = manager.driver();
  const spies = (['put', 'get'] as const).map((call) => jest.spyOn(records!, call).mockRejectedValue(unavailable));
  const worker = new Worker({}, manager);
  const running = worker.run();
  const id = await bus.dispatch(new Deliver());
  await elapse(clock, 5);

  expect(await manager.failed.get(id)).toMatchObject({ attempts: 3 });
  expect(log.messages('warn').filter((message) => message.includes('histories of jobs'))).toHaveLength(1);
  for (const spy of spies) spy.mockRestore();
  // The source lines are read from the disk, which a test clock does not move.
  await eventually(async () => {
    await elapse(clock, 5);
    return (await find(id)).history.length === 3;
  });
  await worker.stop();
  await running;
});

it('a history contains each attempt once, however many workers a process has', async () => {
  const { manager, clock, bus } = application;
  const workers = [new Worker({}, manager), new Worker({}, manager)];
  const running = workers.map((worker) => worker.run());
  const id = await bus.dispatch(new Deliver());
  await elapse(clock, 2);
  await workers[0]!.stop();
  const later = await bus.dispatch(new Deliver());
  await elapse(clock, 2);
  await workers[1]!.stop();
  await Promise.all(running);

  expect((await find(id)).history).toHaveLength(3);
  expect((await find(later)).history).toHaveLength(3);
});

it('completed jobs are listed newest first, by pages, those of one queue', async () => {
  application = testApplication({ history: { completed: '1h' } });
  const { bus, clock, manager } = application;
  const sent: string[] = [];
  for (let job = 0; job < 5; job += 1) {
    sent.push(await bus.dispatch(new Quick()));
    await bus.dispatch(new Quick().onQueue('other'));
    await clock.advance('1s');
    await work();
  }
  await new Worker({ queue: 'other', stopWhenEmpty: true }, manager).run();
  const page = (after?: string) => manager.connection().jobs('default', { state: 'completed', limit: 2, after });

  const first = await page();
  const second = await page(first.next);
  const third = await page(second.next);

  const ids = [first, second, third].flatMap(({ jobs }) => jobs.map(({ id }) => id));
  expect(ids).toEqual(sent.toReversed());
  expect(third.next).toBeUndefined();
  expect(first.jobs[0]).toMatchObject({
    name: 'Quick',
    queue: 'default',
    connection: 'memory',
    state: 'completed',
    attempts: 1,
    completedAt: new Date(clock.now()),
    payload: undefined,
  });
});

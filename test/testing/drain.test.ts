import { Middleware, Queue, Worker } from 'onqueue';
import type { FakeQueue } from 'onqueue/testing';
import { Gate } from '../support/application';
import { Mailer, MakeReport, RunScript, seen, SendReport, SendWelcome } from './jobs';
import { reserveFrom } from '../support/exchange';

const mailer = { send: async (to: string) => `sent to ${to}` };

let queue: FakeQueue;

beforeEach(() => {
  Queue.configure({
    default: 'main',
    connections: { main: { driver: 'redis', retryAfter: '30s' }, other: { driver: 'database' } },
  });
  queue = Queue.fake({ stubs: [[Mailer, mailer]] });
});

afterEach(async () => {
  queue.restore();
  seen.length = 0;
  RunScript.script = () => undefined;
  await Queue.close();
});

const fail =
  (message = 'broken') =>
  () => {
    throw new Error(message);
  };

describe('a drain', () => {
  it('runs ready jobs with injection and stubs', async () => {
    await SendWelcome.dispatch('ada@example.org', new Date(1000));

    const { completed, released, failed, lost, reported } = await queue.drain();

    expect(completed).toEqual([
      {
        outcome: 'completed',
        name: 'SendWelcome',
        id: expect.any(String),
        connection: 'main',
        queue: 'mail',
        attempts: 1,
        job: new SendWelcome('ada@example.org', new Date(1000)),
        value: 'sent to ada@example.org',
        delay: undefined,
        error: undefined,
        next: [],
        added: [],
      },
    ]);
    expect([released, failed, lost, reported]).toEqual([[], [], [], []]);
    expect(await Queue.size('mail')).toBe(0);
  });

  it('leaves behind what a program finds that asks how a job is doing', async () => {
    const id = await SendWelcome.dispatch('ada@example.org', new Date(1000));
    RunScript.script = fail();
    const failing = await RunScript.dispatch();
    expect((await Queue.find(id)).state).toBe('ready');

    await queue.drain();

    expect(await Queue.find(id)).toMatchObject({ state: 'completed', name: 'SendWelcome', queue: 'mail' });
    expect(await Queue.find(failing)).toMatchObject({ state: 'failed', history: [{ outcome: 'failed' }] });
    expect(queue.clock.pending).toBe(0);
  });

  it('runs what jobs dispatch meanwhile, and dispatches that were not awaited', async () => {
    void MakeReport.dispatch('sales');

    await queue.drain();

    expect(seen).toEqual(['report sales', 'sent sales']);
    queue.assertPushed(SendReport);
  });

  it('runs the middleware of a dispatch', async () => {
    @Middleware({ name: 'drain.around' })
    class Around {
      async handle(_job: unknown, next: () => unknown): Promise<void> {
        seen.push('before');
        await next();
        seen.push('after');
      }
    }
    await SendReport.dispatch('sales').through(new Around());

    await queue.drain();

    expect(seen).toEqual(['before', 'sent sales', 'after']);
  });

  it('leaves delayed jobs until the clock has reached their time', async () => {
    await SendReport.dispatch('sales').delay('10m');

    expect((await queue.drain()).completed).toEqual([]);
    await queue.advance('599s');
    expect((await queue.drain()).completed).toEqual([]);
    await queue.advance('1s');
    expect((await queue.drain()).completed).toHaveLength(1);
  });

  it('moves the clock to delayed jobs if asked to', async () => {
    const start = queue.clock.now();
    const moments: number[] = [];
    RunScript.script = () => void moments.push(queue.clock.now() - start);
    await RunScript.dispatch().delay('2h');
    await RunScript.dispatch().delay('90s').onConnection('other');

    const { completed } = await queue.drain({ delayed: true });

    expect(completed).toHaveLength(2);
    expect(moments).toEqual([90_000, 7_200_000]);
  });

  it('reports a failed attempt as released, with its error and backoff', async () => {
    queue.restore();
    queue = Queue.fake({ stubs: [[Mailer, { send: fail('no route') }]] });
    await SendWelcome.dispatch('ada@example.org');

    const { released, failed } = await queue.drain();

    expect(released).toMatchObject([{ outcome: 'released', attempts: 1, delay: 10, error: new Error('no route') }]);
    expect(failed).toEqual([]);

    await queue.advance('10s');
    expect((await queue.drain()).failed).toMatchObject([
      { attempts: 2, delay: undefined, error: new Error('no route') },
    ]);
    expect(seen).toEqual(['welcome ada@example.org', 'welcome ada@example.org', 'failed: no route']);
  });

  it('goes on after a failed job, which Queue.failed keeps', async () => {
    RunScript.script = fail();
    await RunScript.dispatch();
    await SendReport.dispatch('sales');

    const { failed, completed } = await queue.drain();

    expect(failed).toMatchObject([{ name: 'RunScript', job: expect.any(RunScript), error: new Error('broken') }]);
    expect(completed).toMatchObject([{ name: 'SendReport' }]);
    expect(await Queue.failed.list()).toMatchObject([{ id: failed[0]?.id, name: 'RunScript' }]);
  });

  it('rejects with the error of a failed job if asked to, and leaves the rest', async () => {
    RunScript.script = fail();
    await RunScript.dispatch();
    await RunScript.dispatch();

    await expect(queue.drain({ throwOnFailure: true })).rejects.toThrow('broken');

    expect(await Queue.size()).toBe(1);
    expect(await Queue.failed.list()).toHaveLength(1);
  });

  it('does not reject for an attempt that will be retried', async () => {
    RunScript.script = fail();
    await RunScript.dispatch();

    const { released } = await queue.drain({ throwOnFailure: true, tries: 2, backoff: '1m' });

    expect(released).toMatchObject([{ delay: 60 }]);
  });

  it('accepts the options of a worker', async () => {
    RunScript.script = fail();
    await RunScript.dispatch();

    const { released, failed } = await queue.drain({ tries: 3, backoff: ['1s', '2s'], delayed: true });

    expect(released.map(({ attempts, delay }) => [attempts, delay])).toEqual([
      [1, 1],
      [2, 2],
    ]);
    expect(failed.map(({ attempts }) => attempts)).toEqual([3]);
  });

  it('refuses options that a worker would refuse', async () => {
    await expect(queue.drain({ tries: -1 })).rejects.toMatchObject({ code: 'E_INVALID_WORKER_OPTION' });
  });

  it('ends a job at its timeout once the clock has reached it and the grace period is over', async () => {
    RunScript.script = () => new Promise(() => undefined);
    await RunScript.dispatch();

    const draining = queue.drain({ timeout: '50s' });
    await queue.advance('80s');

    expect((await draining).failed).toMatchObject([{ error: { code: 'E_JOB_TIMED_OUT', facts: { timeout: 50 } } }]);
  });

  it('can be limited to one connection, or to some queues in order', async () => {
    await SendReport.dispatch('main');
    await SendReport.dispatch('other').onConnection('other');
    await SendReport.dispatch('low').onQueue('low');
    await SendReport.dispatch('high').onQueue('high');

    await queue.drain({ queue: ['high', 'low'] });
    expect(seen).toEqual(['sent high', 'sent low']);
    await queue.drain({ connection: 'other' });
    expect(seen.slice(2)).toEqual(['sent other']);
    await queue.drain({ queue: 'reports' });
    expect(seen.slice(3)).toEqual(['sent main']);
  });

  it('refuses an unknown connection', async () => {
    await expect(queue.drain({ connection: 'third' })).rejects.toMatchObject({ code: 'E_UNKNOWN_CONNECTION' });
  });

  it('moves the clock no further than the given queues need', async () => {
    const start = queue.clock.now();
    await SendReport.dispatch('late').onQueue('late').delay('1h');

    await queue.drain({ queue: 'reports', delayed: true });

    expect(queue.clock.now()).toBe(start);
  });

  it('reports jobs that released, failed or deleted themselves', async () => {
    const scripts = [
      ({ release }: { release: (delay: string) => void }) => release('30s'),
      ({ fail }: { fail: (reason: string) => void }) => fail('enough'),
      (job: { delete: () => void }) => job.delete(),
    ];
    RunScript.script = (job) => {
      const bound = { release: job.release.bind(job), fail: job.fail.bind(job), delete: job.delete.bind(job) };
      return (scripts.shift() as (job: object) => unknown)(bound);
    };
    for (let count = 0; count < 3; count += 1) await RunScript.dispatch();

    const { released, failed, completed } = await queue.drain({ tries: 2 });

    expect(released).toMatchObject([{ delay: 30, error: undefined }]);
    expect(failed).toMatchObject([{ error: { message: 'enough' } }]);
    expect(completed).toHaveLength(1);
  });

  it('reports a job as lost if its queue was cleared while it ran', async () => {
    RunScript.script = () => Queue.clear();
    await RunScript.dispatch();

    const { lost, completed } = await queue.drain();

    expect(lost).toMatchObject([{ outcome: 'lost', name: 'RunScript', delay: undefined }]);
    expect(completed).toEqual([]);
  });

  it('reports what no worker could run', async () => {
    await Queue.pushRaw('no payload');
    await Queue.push('Nobody@knows', {});

    const { failed, released } = await queue.drain();

    expect(failed).toMatchObject([{ name: '(unreadable)', queue: 'default', error: { code: 'E_INVALID_PAYLOAD' } }]);
    expect(released).toMatchObject([{ name: 'Nobody', delay: 1, error: { code: 'E_UNKNOWN_JOB' } }]);
    expect(await Queue.failed.list()).toMatchObject([{ id: failed[0]?.id }]);
  });

  it('reports errors that changed no outcome', async () => {
    Queue.after(fail('in a hook'));
    await SendReport.dispatch('sales');

    const { completed, reported } = await queue.drain();

    expect(completed).toHaveLength(1);
    expect(reported).toEqual([new Error('in a hook')]);
    expect((await queue.drain()).reported).toEqual([]);
  });

  it('ends with an error if jobs go on for ever', async () => {
    RunScript.script = (job) => job.release();
    await SendReport.dispatch('sales');
    await RunScript.dispatch();

    await expect(queue.drain({ limit: 5, tries: 0 })).rejects.toMatchObject({
      code: 'E_ENDLESS_DRAIN',
      facts: { limit: 5, job: 'RunScript' },
      message: expect.stringMatching(/^drain\(\) stopped after 5 runs, 4 of them of RunScript/),
    });
  });

  it('stops after a thousand runs by default', async () => {
    RunScript.script = (job) => job.release('1s');
    await RunScript.dispatch();

    await expect(queue.drain({ delayed: true, tries: 0 })).rejects.toMatchObject({ facts: { limit: 1000 } });
  });

  it('may run exactly as many jobs as its limit', async () => {
    await Queue.bulk([new SendReport('a'), new SendReport('b')]);

    expect((await queue.drain({ limit: 2 })).completed).toHaveLength(2);
  });

  it.each([0, 1.5, Number.NaN])('refuses the limit %p', async (limit) => {
    await expect(queue.drain({ limit })).rejects.toMatchObject({ code: 'E_INVALID_JOB_OPTION' });
  });

  it('keeps the lease of a job that runs longer than its lease', async () => {
    const gate = new Gate();
    RunScript.script = () => gate.opened;
    await RunScript.dispatch();

    const draining = queue.drain({ timeout: 0 });
    await queue.advance('10m');
    const meanwhile = await queue.drain();
    gate.open();

    expect(meanwhile).toMatchObject({ completed: [], released: [], lost: [] });
    expect((await draining).completed).toMatchObject([{ attempts: 1 }]);
  });

  it('runs a job again once the lease of its lost worker is over', async () => {
    const fences: number[] = [];
    RunScript.script = ({ fence, attempts }) => void fences.push(fence, attempts);
    await RunScript.dispatch();
    // Like a worker that dies during the job.
    await reserveFrom(queue.manager.driver(), { queues: ['default'], limit: 1, lease: 30 });

    expect((await queue.drain()).completed).toEqual([]);
    await queue.advance('30s');
    expect((await queue.drain()).completed).toHaveLength(1);
    expect(fences).toEqual([2, 1]);
  });

  it('leaves nothing for a worker', async () => {
    await MakeReport.dispatch();
    await queue.drain();

    expect(await new Worker({ queue: 'default,reports', stopWhenEmpty: true }).run()).toBe('empty');
    expect(seen).toEqual(['report sales', 'sent sales']);
  });

  it('leaves no timers behind', async () => {
    await MakeReport.dispatch();
    await queue.drain();

    expect(queue.clock.pending).toBe(0);
  });
});

import { container } from 'tsyringe';
import { endOfTurn } from '../../src/base/clock';
import { Inject } from '../../src/container/parameters';
import { Handles } from '../../src/job/declare';
import { Job } from '../../src/job/job';
import { JobContext } from '../../src/job/job-context';
import type { Middleware } from '../../src/job/middleware';
import { elapse, Gate } from '../support/application';
import { payloadOf, reserved } from '../support/reservation';
import { Worker } from '../../src/worker/worker';
import { application, calls, executor, Journal, run, setTheScene } from './executor-scene';

setTheScene();

describe('middleware', () => {
  let layers: Middleware[];
  let behave: () => unknown;

  @Job()
  class Wrapped extends Job {
    middleware(): Middleware[] {
      return layers;
    }
    handle(): unknown {
      calls.push('handle');
      return behave();
    }
  }

  @Job({ tries: 2 })
  class Retried extends Wrapped {}

  beforeEach(() => {
    behave = () => 'value';
  });

  const layer = (name: string): Middleware => ({
    async handle(_job, next) {
      calls.push(`${name} in`);
      const value = await next();
      calls.push(`${name} out`);
      return value;
    },
  });

  it('wraps the run, the first one outermost, and sees the value that handle() returns', async () => {
    layers = [layer('outer'), layer('inner')];
    const job = reserved(application.manager, payloadOf(new Wrapped()));

    await executor.run(job);

    expect(calls).toEqual(['outer in', 'inner in', 'handle', 'inner out', 'outer out']);
    expect(job.value).toBe('value');
  });

  it('that does not call next() completes the job without running it', async () => {
    layers = [{ handle: () => undefined }];

    expect((await run(new Wrapped())).settlement.outcome).toBe('completed');
    expect(calls).toEqual([]);
  });

  class Throttle {
    handle(): void {}
  }

  it.each<[string, unknown, string]>([
    ['a promise', Promise.resolve([]), 'Wrapped.middleware() returned a promise, and must return a list'],
    ['nothing', undefined, 'Wrapped.middleware() returned undefined, and must return a list'],
    ['one layer', new Throttle(), 'Wrapped.middleware() returned an object, and must return a list'],
    ['a number in the list', [layer('a'), 5], 'Wrapped.middleware() returned a number at place 1 of its list.'],
    ['a class', [Throttle], 'Wrapped.middleware() returned the class Throttle at place 0 of its list.'],
    ['any object', [{}], 'Wrapped.middleware() returned an object without handle() at place 0 of its list.'],
  ])('fails the attempt and says why if middleware() returned %s', async (_case, given, message) => {
    layers = given as Middleware[];

    const { error } = await run(new Wrapped());

    expect(error).toMatchObject({ code: 'E_INVALID_MIDDLEWARE', message: expect.stringContaining(message) });
    expect(calls).toEqual([]);
  });

  it('can release the job', async () => {
    layers = [{ handle: (job) => job.release('1h') }];

    expect((await run(new Wrapped())).settlement).toMatchObject({ outcome: 'released', delay: 3600 });
  });

  it.each<[who: string, free: boolean, middleware: Middleware]>([
    ['costs no try if handle() was never called', true, { handle: (job) => job.release('1h') }],
    [
      'costs a try if handle() was called before',
      false,
      { handle: (job, next) => next().then(() => job.release('1h')) },
    ],
    [
      'costs a try if handle() is called afterwards',
      false,
      {
        handle: (job, next) => {
          job.release('1h');
          return next();
        },
      },
    ],
    [
      'with defer() costs no try, even after handle()',
      true,
      { handle: (job, next) => next().then(() => job.defer('1h')) },
    ],
  ])('that releases the job %s', async (_who, free, middleware) => {
    layers = [middleware];

    expect((await run(new Retried())).settlement).toMatchObject({
      outcome: 'released',
      delay: 3600,
      counters: free ? { attempts: 0, releases: 1 } : { attempts: 1, releases: 0 },
    });
  });

  it('can release a job with a single try again and again without failing it', async () => {
    layers = [{ handle: (job, next) => (calls.length === 5 ? next() : release(job)) }];
    const release = (job: JobContext): void => {
      calls.push(`put off, attempt ${job.attempts} of ${job.maxTries}`);
      job.release('1s');
    };
    await application.bus.dispatch(new Wrapped());
    const ended = new Worker({ drain: true }, application.manager).run();

    await elapse(application.clock, 6);

    expect(await ended).toBe('empty');
    expect(calls).toEqual([...Array.from({ length: 5 }, () => 'put off, attempt 1 of 1'), 'handle']);
  });

  describe('that does not wait for next()', () => {
    it('still keeps the run open until handle() has returned', async () => {
      const gate = new Gate();
      layers = [{ handle: (_job, next) => void next() }];
      behave = () => gate.opened.then(() => void calls.push('came back'));
      const ended = run(new Wrapped()).then(({ settlement }) => void calls.push(settlement.outcome));

      await endOfTurn();
      gate.open();
      await ended;

      expect(calls).toEqual(['handle', 'came back', 'completed']);
    });

    it.each<[when: string, middleware: Middleware]>([
      ['later', { handle: (_job, next) => void next() }],
      ['before the middleware has returned', { handle: (_job, next) => (void next(), endOfTurn()) }],
      [
        'when the middleware catches it without waiting',
        { handle: (_job, next) => void next().catch(() => undefined) },
      ],
    ])('does not lose an error that handle() throws %s', async (_when, middleware) => {
      layers = [layer('outer'), middleware];
      behave = () => Promise.reject(new Error('refused'));

      expect((await run(new Wrapped())).error?.message).toBe('refused');
    });

    it('fails with an error of its own, and the error of handle() is reported', async () => {
      const reported: unknown[] = [];
      application.manager.onError((error) => reported.push(error));
      const refused = new Error('refused');
      const middleware = (_job: JobContext, next: () => Promise<unknown>): void => {
        void next();
        throw new Error('impatient');
      };
      layers = [{ handle: middleware }];
      behave = () => Promise.reject(refused);

      expect((await run(new Wrapped())).error?.message).toBe('impatient');
      expect(reported).toEqual([refused]);
    });
  });

  it('can swallow an error that handle() throws', async () => {
    layers = [{ handle: (_job, next) => next().catch(() => 'kept') }];
    behave = () => Promise.reject(new Error('refused'));

    expect((await run(new Wrapped())).settlement.outcome).toBe('completed');
  });

  it.each<[how: string, middleware: (next: () => Promise<unknown>) => unknown]>([
    ['one after another', async (next) => [await next(), await next()]],
    ['at once', (next) => void (next(), next())],
    ['swallowing the second error', async (next) => (await next(), await next().catch(() => undefined))],
  ])('that calls next() twice, %s, runs the job once and fails it', async (_how, middleware) => {
    layers = [{ handle: (_job, next) => middleware(next) }];

    expect((await run(new Wrapped())).error).toHaveProperty('code', 'E_MIDDLEWARE_NEXT');
    expect(calls).toEqual(['handle']);
  });

  it('cannot run the job by calling next() after it has returned', async () => {
    const reported: unknown[] = [];
    application.manager.onError((error) => reported.push(error));
    let next!: () => Promise<unknown>;
    layers = [{ handle: (_job, given) => void (next = given) }];

    expect((await run(new Wrapped())).settlement.outcome).toBe('completed');

    await expect(next()).rejects.toThrow('called next() after it had returned');
    expect(calls).toEqual([]);
    expect(reported).toHaveLength(1);
  });

  it('has its own dependencies injected', async () => {
    class Journalled {
      handle(_job: JobContext, next: () => Promise<unknown>, @Inject(Journal) journal: Journal): Promise<unknown> {
        journal.write('journalled');
        return next();
      }
    }
    layers = [new Journalled()];

    await run(new Wrapped());

    expect(calls).toEqual(['journalled', 'handle']);
  });
});

describe('a handler class', () => {
  @Job()
  class Greet {
    constructor(readonly name: string) {}
  }

  @Handles(Greet)
  class GreetHandler {
    constructor(@Inject(Journal) readonly journal: Journal) {}
    handle(job: Greet, @Inject(JobContext) context: JobContext): void {
      this.journal.write(`hello ${job.name}, attempt ${context.attempts}`);
      if (job.name === 'nobody') throw new Error('nobody there');
    }
    failed(job: Greet, error: Error): void {
      this.journal.write(`no hello to ${job.name}: ${error.message}`);
    }
  }

  it('runs the job, with its own dependencies and the context injected', async () => {
    expect(GreetHandler).toBeDefined();

    await run(new Greet('Ada'));

    expect(calls).toEqual(['hello Ada, attempt 1']);
  });

  it('has its failed() called', async () => {
    const job = reserved(application.manager, payloadOf(new Greet('nobody')));

    await executor.announcer.announce(job, await executor.run(job));

    expect(calls).toEqual(['hello nobody, attempt 1', 'no hello to nobody: nobody there']);
  });

  it('is required for a job without handle()', async () => {
    @Job()
    class Idle {}

    expect((await run(new Idle())).error).toMatchObject({ code: 'E_NO_HANDLER' });
  });
});

it('an error while disposing injected objects is reported and does not change the outcome', async () => {
  class Leaky {
    dispose(): void {
      throw new Error('stuck');
    }
  }
  @Job()
  class UsesLeaky extends Job {
    handle(@Inject(Leaky) leaky: Leaky): void {
      calls.push(leaky.constructor.name);
    }
  }
  container.register(Leaky, Leaky);
  const reported: unknown[] = [];
  application.manager.onError((_error, { during }) => reported.push(during));

  expect((await run(new UsesLeaky())).settlement.outcome).toBe('completed');
  expect(reported).toEqual(['disposing what was injected']);
});

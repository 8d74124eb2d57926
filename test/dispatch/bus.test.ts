import { JobBus } from '../../src/dispatch/bus';
import { endOfTurn } from '../../src/base/clock';
import { Inject } from '../../src/container/parameters';
import { Handles } from '../../src/job/declare';
import { Job } from '../../src/job/job';
import { JobContext } from '../../src/job/job-context';
import type { Middleware } from '../../src/job/middleware';
import type { QueueConnection } from '../../src/dispatch/queue-connection';
import { watchedApplication } from '../support/watched-application';

class Mailer {
  readonly sent: string[] = [];

  send(to: string): string {
    this.sent.push(to);
    return `sent to ${to}`;
  }
}

@Job({ queue: 'mails' })
class SendMail extends Job {
  constructor(readonly to: string) {
    super();
  }

  middleware(): Middleware['handle'][] {
    return [async (_job, next) => `[${String(await next())}]`];
  }

  async handle(@Inject(Mailer) mailer: Mailer): Promise<string> {
    if (this.to === '') throw new Error('nobody');
    return `${mailer.send(this.to)}, attempt ${this.attempts}`;
  }
}

@Job()
class Plain {
  constructor(readonly n: number) {}
}

@Handles(Plain)
class _PlainHandler {
  constructor(readonly mailer: Mailer) {}

  handle(plain: Plain, @Inject(JobContext) job: JobContext): string {
    if (plain.n === 0) job.release('1m');
    if (plain.n === 1) job.fail('one is not enough');
    if (plain.n === 2) job.delete();
    return this.mailer.send(`${job.name} ${plain.n} ${job.signal.aborted}`);
  }
}

@Job()
class PushesItself extends Job {
  constructor(readonly gives: string | undefined) {
    super();
  }

  async queue(connection: QueueConnection, route: object): Promise<string | undefined> {
    await connection.pushRaw(JSON.stringify({ job: connection.name, ...route }), 'raw');
    return this.gives;
  }
}

@Job()
class Watches extends Job {
  async handle(): Promise<boolean> {
    const { id } = this.job;
    await meanwhile(this);
    return this.job.id === id;
  }
}

/** What happens while `Watches` runs. */
let meanwhile: (job: Watches) => Promise<unknown>;

@Job()
class Idle extends Job {}

class Undecorated extends Job {}

class Greet {
  constructor(readonly name: string) {}
}

class GreetHandler {
  constructor(@Inject(Mailer) readonly mailer: Mailer) {}

  handle(greet: Greet): string {
    return this.mailer.send(greet.name);
  }
}

function given() {
  const mailer = new Mailer();
  const resolve = (token: unknown): unknown => (token === Mailer ? mailer : undefined);
  const app = watchedApplication({
    default: 'main',
    connections: { main: { driver: 'memory' }, other: { driver: 'memory' } },
    container: { resolve },
  });
  return { ...app, mailer, bus: new JobBus(() => app.manager) };
}

describe('Bus.dispatch', () => {
  it('sends a job to its queue, whether or not its class extends Job', async () => {
    const { bus, watched } = given();

    await bus.dispatch(new SendMail('ada'));
    await bus.dispatchToQueue(new Plain(7)).onQueue('x');

    expect(watched().pushes.map(({ queue }) => queue)).toEqual(['mails', 'x']);
  });

  it('runs the mapped handler of a command that is not a job at once', async () => {
    const { bus, watched } = given();
    bus.map([[Greet, GreetHandler]]);

    const values = [
      await bus.dispatch(new Greet('a')),
      await bus.dispatchSync(new Greet('b')),
      await bus.dispatchNow(new Greet('c')),
    ];

    expect(values).toEqual(['sent to a', 'sent to b', 'sent to c']);
    expect(watched().pushes).toEqual([]);
  });

  it('says what is missing if it knows no handler or the job has no decorator', async () => {
    const { bus } = given();

    await expect(bus.dispatch(new Greet('a'))).rejects.toMatchObject({ code: 'E_UNMAPPED_COMMAND' });
    await expect(bus.dispatch(new Undecorated())).rejects.toMatchObject({ code: 'E_UNDECORATED_JOB' });
    await expect(bus.dispatchToQueue(new Greet('a'))).rejects.toMatchObject({ code: 'E_UNDECORATED_JOB' });
  });

  it('calls a job’s own queue() instead of pushing it', async () => {
    const { bus, watched } = given();

    const ids = [
      await bus.dispatch(new PushesItself('own id')).onQueue('x').delay('1m'),
      await bus.dispatch(new PushesItself(undefined)),
    ];

    expect(ids).toEqual(['own id', '']);
    expect(await watched().payloads('raw')).toEqual([
      { job: 'main', queue: 'x', delay: 60 },
      { job: 'main', queue: 'default', delay: 0 },
    ]);
  });
});

describe('Bus.dispatchSync', () => {
  it('runs the job through its payload, middleware and hooks, and resolves with its result', async () => {
    const { bus, manager, watched } = given();
    const seen: string[] = [];
    manager.hooks.on('before', ({ connectionName, job }) => void seen.push(`${connectionName} ${job.name}`));

    expect(await bus.dispatchSync(new SendMail('ada'))).toBe('[sent to ada, attempt 1]');

    expect(seen).toEqual(['sync SendMail']);
    expect(watched().pushes).toEqual([]);
  });

  it('rejects with the error of the job', async () => {
    const { bus } = given();

    await expect(bus.dispatchSync(new SendMail(''))).rejects.toThrow('nobody');
  });
});

describe('Bus.dispatchNow', () => {
  it('runs the given instance in place, with injection and without middleware', async () => {
    const { bus, mailer } = given();

    expect(await bus.dispatchNow(new SendMail('ada'))).toBe('sent to ada, attempt 1');
    expect(mailer.sent).toEqual(['ada']);
    await expect(bus.dispatchNow(new SendMail(''))).rejects.toThrow('nobody');
  });

  it('gives a handler the job, its dependencies and a context', async () => {
    const { bus } = given();

    expect(await bus.dispatchNow(new Plain(7))).toBe('sent to Plain 7 false');
  });

  it('cannot release the job, rejects if it fails itself, and resolves if it deletes itself', async () => {
    const { bus } = given();

    await expect(bus.dispatchNow(new Plain(0))).rejects.toMatchObject({ code: 'E_NOT_QUEUED' });
    await expect(bus.dispatchNow(new Plain(1))).rejects.toThrow('one is not enough');
    expect(await bus.dispatchNow(new Plain(2))).toBe('sent to Plain 2 false');
  });

  it('runs an instance only once at a time, so that no run sees the context of another', async () => {
    const { bus } = given();
    meanwhile = endOfTurn;
    const job = new Watches();

    const [first, second] = await Promise.allSettled([bus.dispatchNow(job), bus.dispatchNow(job)]);

    expect(first).toMatchObject({ value: true });
    expect(second).toMatchObject({ reason: { code: 'E_ALREADY_RUNNING' } });
    expect(await bus.dispatchNow(job)).toBe(true);
  });

  it('does not run an instance that a worker is running', async () => {
    const { bus } = given();
    meanwhile = (job) => bus.dispatchNow(job);

    await expect(bus.dispatchSync(new Watches())).rejects.toMatchObject({ code: 'E_ALREADY_RUNNING' });
  });

  it('allows a command that is not a job to be handled several times at once', async () => {
    const { bus } = given();
    bus.map([[Greet, GreetHandler]]);
    const hello = new Greet('a');
    expect(await Promise.all([bus.dispatchNow(hello), bus.dispatch(hello)])).toHaveLength(2);
  });

  it('refuses a job without a handler', async () => {
    const { bus } = given();

    await expect(bus.dispatchNow(new Idle())).rejects.toMatchObject({ code: 'E_NO_HANDLER' });
  });

  it('warns once of a class whose jobs nothing here could run, and of no other', async () => {
    const { bus } = given();
    const emit = jest.spyOn(process, 'emitWarning').mockImplementation();
    jest.replaceProperty(process, 'env', { ...process.env, JEST_WORKER_ID: undefined });
    @Job()
    class Order {}
    @Job()
    class Sale {}
    @Handles(Sale)
    class SaleHandler {
      handle(_sale: Sale): void {}
    }
    await bus.bulk([new Order(), new SendMail('a'), new Sale()]);
    await bus.dispatch(new Order());
    jest.restoreAllMocks();

    expect(SaleHandler.name).toBe('SaleHandler');
    expect(emit.mock.calls).toEqual([
      [
        expect.stringMatching(/^Order has no handle\(\), and no class .* is meant, start this/),
        expect.objectContaining({ code: 'ONQUEUE_NO_HANDLER' }),
      ],
    ]);
  });
});

describe('Bus.bulk', () => {
  it('sends jobs to their own connections and queues, with one call for each queue', async () => {
    const { bus, watched } = given();
    const jobs = [new SendMail('a'), new Plain(7), new SendMail('b').onConnection('other'), new SendMail('c')];

    const ids = await bus.bulk(jobs);

    expect(watched().pushes.map(({ queue, entries }) => [queue, entries.length])).toEqual([
      ['mails', 2],
      ['default', 1],
    ]);
    expect((await watched().payloads('mails')).map(({ id }) => id)).toEqual([ids[0], ids[3]]);
    expect((await watched('other').payloads('mails')).map(({ id }) => id)).toEqual([ids[2]]);
    expect(new Set(ids).size).toBe(4);
  });

  it('lets jobs with their own queue() push themselves, and keeps the order of the ids', async () => {
    const { bus, watched } = given();

    const ids = await bus.bulk([new PushesItself('mine'), new Plain(7), new PushesItself('too')]);

    expect([ids[0], ids[2]]).toEqual(['mine', 'too']);
    expect(await watched().payloads('default')).toMatchObject([{ id: ids[1] }]);
  });

  it.each([
    [new SendMail('a'), 'An object is not a list of jobs'],
    [SendMail, 'A function is not a list of jobs'],
    [undefined, 'undefined is not a list of jobs'],
  ])('refuses %p, which is not a list', async (jobs, message) => {
    const { bus } = given();
    await expect(bus.bulk(jobs as never)).rejects.toMatchObject({
      code: 'E_NOT_A_JOB',
      message: expect.stringContaining(message) as string,
    });
  });

  it('asks for the instance if one of them is a dispatch, which has a class without @Job()', async () => {
    const { bus } = given();

    await expect(bus.bulk([bus.dispatch(new Plain(7))])).rejects.toMatchObject({
      code: 'E_NOT_A_JOB',
      message: expect.stringContaining('give new SendEmail(…) in place of SendEmail.dispatch(…)') as string,
    });
  });

  it('sends nothing if one of them is not a job', async () => {
    const { bus, watched } = given();

    await expect(bus.bulk([new Plain(7), new Greet('a')])).rejects.toMatchObject({ code: 'E_UNDECORATED_JOB' });
    expect(watched().pushes).toEqual([]);
  });
});

describe('a job in a bulk that cannot be sent', () => {
  const bad = Object.assign(new SendMail('b'), { to: Symbol('x') });

  it('is identified by its place and its file', async () => {
    const { bus } = given();
    const sent = bus.bulk([new PushesItself('7'), new SendMail('a'), bad]);
    await expect(sent).rejects.toThrow(
      'job 3 of 3: SendMail.to is a symbol, which a queue cannot carry. Write a string instead. (test/dispatch/bus.test.ts)',
    );
    await expect(sent).rejects.toMatchObject({ stack: expect.stringContaining('job 3 of 3: SendMail.to') as string });
  });

  it('is identified in a generator as well, and if it is not a job', async () => {
    const { manager, bus } = given();
    const jobs = function* () {
      yield new SendMail('a');
      yield bad;
    };
    await expect(manager.connection('main').bulk(jobs())).rejects.toThrow('job 2: SendMail.to is a symbol');
    await expect(bus.bulk([new SendMail('a'), {}])).rejects.toThrow('job 2 of 2: A plain object is not a job');
  });
});

describe('a value that is not a job', () => {
  it.each([
    ['the class in place of an instance', SendMail, 'SendMail: this is the class'],
    [
      'a class with a static queue()',
      class Pushing {
        static queue(): string {
          return 'x';
        }
      },
      'Pushing: this is the class',
    ],
    ['a plain object', {}, 'A plain object is not a job'],
    ['nothing', undefined, 'undefined is not a job'],
  ])('is refused for the actual mistake: %s', async (_what, value, message) => {
    const { bus } = given();
    const job = value as object;
    await expect(bus.dispatch(job)).rejects.toThrow(message);
    await expect(bus.dispatchToQueue(job)).rejects.toThrow(message);
    await expect(bus.dispatchSync(job)).rejects.toThrow(message);
    await expect(bus.dispatchNow(job)).rejects.toThrow(message);
    await expect(bus.bulk([job])).rejects.toThrow(message);
  });
});

describe('Bus.map', () => {
  it('gives a job its handler, like @Handles', async () => {
    const { bus } = given();
    class IdleHandler {
      handle(_idle: Idle): string {
        return 'done';
      }
    }

    bus.map(new Map([[Idle, IdleHandler]]));

    expect(await bus.dispatchSync(new Idle())).toBe('done');
  });

  it('refuses a handler with a dependency that cannot be resolved', () => {
    const { bus } = given();
    class Wrong {
      handle(_greet: Greet, @Inject(Mailer) _mailer: Mailer, _extra: string): void {}
    }

    expect(() => bus.map([[Greet, Wrong]])).toThrow(/Wrong\.handle, parameter 2/);
  });

  it('says that the class of a command is undefined, as where two files import each other', () => {
    const { bus } = given();
    class Handler {
      handle(): void {}
    }

    expect(() => bus.map([[undefined as never, Handler]])).toThrow(
      /^Bus\.map to Handler: the class of the command is undefined\. Two files import each other/,
    );
  });

  it.each([
    ['without handle()', class Empty {}, 'Empty'],
    [
      'with handle in a field',
      class InField {
        handle = () => 'x';
      },
      'InField',
    ],
    ['that is undefined', undefined, 'undefined'],
  ])('refuses a handler %s, which would fail only when a job runs', (_what, handler, name) => {
    const { bus } = given();
    expect(() => bus.map([[Greet, handler as never]])).toThrow(
      `Bus.map to ${name}: it is not a class with a method handle().`,
    );
  });
});

import { container } from 'tsyringe';
import { Inject } from '../../src/container/inject';
import { NoHandlerError } from '../../src/job/errors';
import { Handles } from '../../src/job/handles';
import { Job } from '../../src/job/job';
import { JobContext } from '../../src/job/job-context';
import type { Middleware } from '../../src/job/middleware';
import { Executor } from '../../src/worker/executor';
import type { Outcome } from '../../src/worker/outcome';
import { testApplication, type TestApplication } from '../support/application';
import { payloadOf, reserved } from '../support/reservation';

let application: TestApplication;
let executor: Executor;
let calls: string[];

beforeEach(() => {
  application = testApplication();
  executor = new Executor(application.manager, { defaults: {}, grace: 5 });
  calls = [];
});

afterEach(async () => {
  executor.close();
  await application.manager.close();
});

class Journal {
  write(line: string): void {
    calls.push(line);
  }
}

const run = (job: object): Promise<Outcome> => executor.run(reserved(payloadOf(job)));

describe('middleware', () => {
  let layers: Middleware[];

  @Job()
  class Wrapped extends Job {
    middleware(): Middleware[] {
      return layers;
    }
    handle(): string {
      calls.push('handle');
      return 'value';
    }
  }

  const layer = (name: string): Middleware => ({
    async handle(_job, next) {
      calls.push(`${name} in`);
      const value = await next();
      calls.push(`${name} out`);
      return value;
    },
  });

  it('wraps the run, the first outermost, and hands the value of handle out', async () => {
    layers = [layer('outer'), layer('inner')];
    const job = reserved(payloadOf(new Wrapped()));

    await executor.run(job);

    expect(calls).toEqual(['outer in', 'inner in', 'handle', 'inner out', 'outer out']);
    expect(job.value).toBe('value');
  });

  it('that does not go on completes the job without running it', async () => {
    layers = [{ handle: () => undefined }];

    expect((await run(new Wrapped())).settlement.outcome).toBe('completed');
    expect(calls).toEqual([]);
  });

  it('can release the job', async () => {
    layers = [{ handle: (job) => job.release('1h') }];

    expect((await run(new Wrapped())).settlement).toMatchObject({ outcome: 'released', delay: 3600 });
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

  it('hears of the failure', async () => {
    const job = reserved(payloadOf(new Greet('nobody')));

    await executor.announcer.announce(job, await executor.run(job));

    expect(calls).toEqual(['hello nobody, attempt 1', 'no hello to nobody: nobody there']);
  });

  it('or a handle() must be there', async () => {
    @Job()
    class Idle {}

    expect((await run(new Idle())).error).toBeInstanceOf(NoHandlerError);
  });
});

it('what cannot be disposed is reported, and does not undo what handle() has done', async () => {
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

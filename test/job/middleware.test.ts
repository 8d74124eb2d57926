import { JobBus } from '../../src/dispatch/bus';
import { Job } from '../../src/job/job';
import type { JobContext } from '../../src/job/job-context';
import { Middleware } from '../../src/job/middleware';
import { watchedApplication } from '../support/watched-application';

const steps: string[] = [];

@Middleware()
class Note implements Middleware {
  constructor(readonly word: string) {}

  async handle(job: JobContext, next: () => Promise<unknown>): Promise<unknown> {
    steps.push(`${this.word} before ${job.name}`);
    const value = await next();
    steps.push(`${this.word} after`);
    return `${this.word}(${String(value)})`;
  }
}

@Job()
class Wrapped extends Job {
  middleware(): Middleware[] {
    return [new Note('own')];
  }

  handle(): string {
    steps.push('handle');
    return 'value';
  }
}

describe('middleware', () => {
  it("wraps the run like an onion: the job's own middleware outside, that of the dispatch inside", async () => {
    const { manager } = watchedApplication();

    const value = await new JobBus(() => manager).dispatchSync(
      new Wrapped().through(new Note('first'), new Note('second')),
    );

    expect(value).toBe('own(first(second(value)))');
    expect(steps).toEqual([
      'own before Wrapped',
      'first before Wrapped',
      'second before Wrapped',
      'handle',
      'second after',
      'first after',
      'own after',
    ]);
  });

  it('shares its names with jobs, so that none is used twice', () => {
    expect(() =>
      Middleware({ name: 'Wrapped' })(
        class implements Middleware {
          handle(): void {}
        },
      ),
    ).toThrow(expect.objectContaining({ code: 'E_DUPLICATE_JOB' }));
  });

  it('refuses a second class with the same name, naming both files and the remedy', () => {
    const declare = (target: typeof Note) => () => Middleware({ name: 'twice' })(target);
    declare(class Twice extends Note {})();
    const other = declare(class Other extends Note {});

    expect(other).toThrow(
      "Two classes claim the name 'twice': Twice (test/job/middleware.test.ts) and Other (test/job/middleware.test.ts). Give one",
    );
    expect(other).toThrow("another: @Middleware({ name: '…' }).");
  });

  class Bare {
    handle(): void {}
  }

  it.each<[string, () => unknown, string]>([
    ['without brackets', () => Middleware(Bare as object), 'has @Middleware without brackets. Write @Middleware().'],
    [
      'with options of a job',
      () => Middleware({ version: 2 } as object)(Bare),
      'has an unknown option in @Middleware: version.',
    ],
    [
      'with a name that is not a string',
      () => Middleware({ name: 5 as never })(Bare),
      'has a name in @Middleware that is not a string.',
    ],
    ['above a class without handle()', () => Middleware()(class Bare {} as never), 'no method handle(job, next).'],
  ])('is refused if it is declared %s', (_case, declare, problem) => {
    expect(declare).toThrow(
      expect.objectContaining({ code: 'E_INVALID_JOB_CLASS', message: expect.stringContaining(problem) }),
    );
    expect(declare).toThrow('Bare (test/job/middleware.test.ts)');
  });

  it('refuses a list given to through(), and says what to write instead', async () => {
    const { manager } = watchedApplication();
    const list = [new Note('first')] as unknown as Note;

    await expect(new JobBus(() => manager).dispatch(new Wrapped().through(list))).rejects.toThrow(
      'through() was given a list, which cannot travel with a job. Give its members one by one: through(first, second).',
    );
  });
});

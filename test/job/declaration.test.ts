import { duplicateJob } from '../../src/job/errors';
import { Job } from '../../src/job/job';
import { Middleware } from '../../src/job/middleware';
import { registry } from '../../src/job/registry';

const claimOf = (name: string, file: string) => ({ name, file, decorator: 'Job' }) as const;

const declareWith = (options: object): (() => unknown) => {
  class SendEmail extends Job {
    handle() {}
  }
  return () => Job(options)(SendEmail);
};

describe('a class decorated with @Job()', () => {
  it('is registered under its name, with its options and its file', () => {
    @Job({ queue: 'podcasts', tries: 5, aliases: ['OldPodcast'], version: 2 })
    class ProcessPodcast extends Job {}

    const definition = registry().find('ProcessPodcast');
    expect(definition).toMatchObject({ name: 'ProcessPodcast', aliases: ['OldPodcast'], version: 2, file: __filename });
    expect(definition?.options).toEqual({ queue: 'podcasts', tries: 5 });
    expect(definition?.target).toBe(ProcessPodcast);
    expect(registry().find('OldPodcast')).toBe(definition);
    expect(registry().definitionOf(ProcessPodcast)).toBe(definition);
    expect(registry().nameOf(ProcessPodcast)).toBe('ProcessPodcast');
    expect(registry().classOf('OldPodcast')).toBe(ProcessPodcast);
  });

  it('may have another name and need not extend Job', () => {
    @Job({ name: 'billing.invoice' })
    class Invoice {}

    expect(registry().find('billing.invoice')?.target).toBe(Invoice);
    expect(registry().find('Invoice')).toBeUndefined();
  });

  it('may be a class expression, which the decorator returns', () => {
    const Expression = Job()(class Expression extends Job {});
    expect(registry().find('Expression')?.target).toBe(Expression);
  });

  it('inherits the options of its parents, but not their name, aliases and version', () => {
    @Job({ name: 'parent', aliases: ['grand'], version: 3, queue: 'mail', tries: 5, timeout: '1m' })
    class ParentJob extends Job {}
    class Between extends ParentJob {}
    @Job({ tries: 2, queue: undefined })
    class ChildJob extends Between {}

    expect(registry().definitionOf(Between)).toBeUndefined();
    expect(registry().definitionOf(ChildJob)).toMatchObject({ name: 'ChildJob', aliases: [], version: undefined });
    expect(registry().definitionOf(ChildJob)?.options).toEqual({ queue: 'mail', tries: 2, timeout: '1m' });
  });

  it('keeps its name and its static members', () => {
    @Job()
    class WithStatics extends Job {
      static readonly limit = 3;
      static make(): WithStatics {
        return new WithStatics();
      }
    }
    expect(WithStatics.make()).toBeInstanceOf(Job);
    expect([WithStatics.name, WithStatics.limit]).toEqual(['WithStatics', 3]);
  });
});

describe('a declaration', () => {
  it.each([
    [{ attempts: 3 }, 'unknown option `attempts`; did you mean `tries`?'],
    [{ queu: 'mail' }, 'unknown option `queu`; did you mean `queue`?'],
    [{ constructor: 1 }, 'unknown option `constructor`; it knows name, aliases'],
  ])('is refused with an unknown option: %p', (options, message) => {
    expect(declareWith(options)).toThrow(expect.objectContaining({ code: 'E_UNKNOWN_JOB_OPTION' }));
    expect(declareWith(options)).toThrow(message);
  });

  it.each([
    [{ tries: -1 }],
    [{ tries: 1.5 }],
    [{ tries: '3' }],
    [{ tries: NaN }],
    [{ version: 0 }],
    [{ maxCrashes: -1 }],
    [{ maxExceptions: 0 }],
    [{ failOnTimeout: 'yes' }],
    [{ name: '' }],
    [{ name: ' ' }],
    [{ connection: '' }],
    [{ aliases: 'Old' }],
    [{ aliases: [''] }],
    [{ upgrade: {} }],
    [{ backoff: [] }],
    [{ backoff: { delays: '10s', jitter: 2 } }],
    [{ backoff: { delay: '10s' } }],
    [{ backoff: { delays: '10s', jiter: 0.1 } }],
  ])('is refused with an invalid value: %p', (options) => {
    expect(declareWith(options)).toThrow(expect.objectContaining({ code: 'E_INVALID_JOB_OPTION' }));
  });

  it.each([
    [{ timeout: '2 minutes' }],
    [{ timeout: new Date() }],
    [{ delay: '-5s' }],
    [{ backoff: ['10s', 'soon'] }],
    [{ backoff: { delays: ['1e3s'] } }],
    [{ retryUntil: new Date('never') }],
  ])('is refused with an invalid duration: %p', (options) => {
    expect(declareWith(options)).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
  });

  it('is refused with several queues in one string', () => {
    expect(declareWith({ queue: 'high,default' })).toThrow(expect.objectContaining({ code: 'E_INVALID_QUEUE_NAME' }));
  });

  it('is refused with the class, the file, the value and the remedy in the message', () => {
    expect(declareWith({ timeout: '2 minutes' })).toThrow(
      "timeout on SendEmail (test/job/declaration.test.ts): '2 minutes' is not a duration. Write '2m'",
    );
    expect(declareWith({ tries: -1 })).toThrow(
      'tries on SendEmail (test/job/declaration.test.ts): -1 is not valid. Give a whole number from 0 (0: no limit).',
    );
  });

  it('is refused if the options are not an object or the brackets are missing', () => {
    const bare: unknown = Job;
    expect(declareWith(null as never)).toThrow('@Job on SendEmail (test/job/declaration.test.ts): null is not valid');
    expect(() => (bare as (target: unknown) => void)(class Bare {})).toThrow(
      'Bare (test/job/declaration.test.ts) has @Job',
    );
  });

  it.each(['removeOnComplete', 'repeat', 'middleware', 'limiter', 'priority'])(
    'is refused with an option of BullMQ, and the message names its counterpart: %s',
    (option) => {
      expect(declareWith({ [option]: 1 })).toThrow(/unknown option `\w+`; (?!it knows|did you mean).{20,}\.$/);
    },
  );

  it('is refused with the repeat option of BullMQ, and the message points to schedules', () => {
    expect(declareWith({ repeat: { every: 1000 } })).toThrow("`repeat`; here it is schedule: { cron: '0 3 * * *' }");
  });

  it('is refused in production if a minifier made the name and no explicit one is given', () => {
    jest.replaceProperty(process, 'env', { ...process.env, NODE_ENV: 'production' });
    expect(() => Job()(class a$ extends Job {})).toThrow(
      "a$ (test/job/declaration.test.ts) has a name that a minifier seems to have made: the next build may give it to another class, and waiting jobs would run as that class. Name it: name: 'SendMail'",
    );
    const middleware = class b {
      handle(): void {}
    };
    expect(() => Middleware()(middleware)).toThrow('a minifier seems to have made');
    expect(() => Job({ name: 'mail' })(class c extends Job {})).not.toThrow();
    expect(() => Job()(class Run extends Job {})).not.toThrow();
    jest.replaceProperty(process, 'env', { ...process.env, NODE_ENV: 'test' });
    expect(() => Job()(class d extends Job {})).not.toThrow();
  });

  it('is refused under a name reserved for Onqueue', () => {
    const message =
      "Mine (test/job/declaration.test.ts) is called 'onqueue:carry', but names that begin with 'onqueue:' belong";
    expect(() => Job({ name: 'onqueue:carry' })(class Mine extends Job {})).toThrow(message);
    expect(() => Job({ aliases: ['old', 'onqueue:carry'] })(class Mine extends Job {})).toThrow(message);
  });

  it('is refused on a function that is not a class, and on a class without a name', () => {
    expect(() => Job()((() => {}) as never)).toThrow(expect.objectContaining({ code: 'E_INVALID_JOB_CLASS' }));
    expect(() => Job()(class extends Job {})).toThrow("has no name of its own. Give the job one: @Job({ name: '…' })");
    expect(() => Job({ name: 'named' })(class extends Job {})).not.toThrow();
  });

  it('is refused on a class with private #fields, its own or inherited', () => {
    class Keeper {
      #secret = 1;
      reveal(): number {
        return this.#secret;
      }
    }
    class Secretive extends Keeper {}
    expect(() => Job()(Keeper)).toThrow(
      'Keeper (test/job/declaration.test.ts) has private #fields (#secret), which cannot be restored; use `private`.',
    );
    expect(() => Job()(Secretive)).toThrow('inherits from Keeper private #fields (#secret)');
  });

  it.each([Map, Set, Array, String, Error, Uint8Array])('is refused on a class that extends %p', (builtIn) => {
    const Held = class Held extends (builtIn as new () => object) {};
    class Heir extends Held {}
    const problem = `extends ${builtIn.name}, whose contents are no properties and would not travel; keep one in a field.`;
    expect(() => Job()(Held)).toThrow(`Held (test/job/declaration.test.ts) ${problem}`);
    expect(() => Job()(Heir)).toThrow(`Heir (test/job/declaration.test.ts) ${problem}`);
  });

  it('is refused for a second class with the same name or alias, naming both classes and files', () => {
    Job({ name: 'twin' })(class Twin extends Job {});
    expect(() => Job({ name: 'twin' })(class Double extends Job {})).toThrow(
      expect.objectContaining({ code: 'E_DUPLICATE_JOB' }),
    );
    expect(() => Job({ name: 'other-twin', aliases: ['twin'] })(class Double extends Job {})).toThrow(
      expect.objectContaining({ code: 'E_DUPLICATE_JOB' }),
    );
    expect(registry().find('other-twin')).toBeUndefined();
    const other = { name: 'twin', aliases: [], version: undefined, upgrade: undefined, options: {}, file: '/app/b.js' };
    expect(() => registry().register({ ...other, target: class Twin {} })).toThrow(
      "Two classes claim the name 'twin': Twin (test/job/declaration.test.ts) and Twin (/app/b.js). " +
        "Give one of them another: @Job({ name: '…' }).",
    );
  });

  it.each([
    ['src/jobs.ts', 'dist/jobs.js'],
    ['dist/jobs.cjs', 'src/jobs.cts'],
  ])('is not told to rename a job that was loaded both as source and as build: %s, %s', (first, second) => {
    const { message } = duplicateJob('Send', claimOf('Send', first), claimOf('Send', second));
    expect(message).toContain('one class that was loaded twice, as source and as build. Load only one of them');
    expect(message).toContain('begins with Queue.configure(configuration)');
    expect(message).not.toContain('@Job({ name');
  });

  it.each([
    ['src/jobs.ts', 'src/other.ts', 'Send'],
    ['src/jobs.ts', 'dist/other.js', 'Send'],
    ['src/mail/jobs.ts', 'src/shop/jobs.ts', 'Send'],
    ['src/jobs.ts', 'dist/jobs.js', 'Deliver'],
  ])(
    'is told to rename one of two jobs that are not source and build of the same class: %s, %s with %s',
    (first, second, name) => {
      const { message } = duplicateJob('Send', claimOf('Send', first), claimOf(name, second));
      expect(message).toContain("Give one of them another: @Job({ name: '…' }).");
    },
  );

  it('is refused on a class that has @Job() twice', () => {
    class Double extends Job {}
    Job()(Double);
    expect(() => Job()(Double)).toThrow('Double (test/job/declaration.test.ts) has @Job() twice');
  });
});

describe('the registry', () => {
  it('is shared by modules that are loaded again', () => {
    const slots = globalThis as unknown as Record<symbol, unknown>;
    expect(slots[Symbol.for('onqueue.registry')]).toMatchObject({ registry: registry() });
  });

  it('knows middleware classes by name, and they share their names with jobs', () => {
    @Job()
    class Named extends Job {}
    class RateLimit {}
    registry().registerData('rate-limit', RateLimit, 'Middleware');
    registry().registerData('rate-limit', RateLimit, 'Middleware');
    expect(registry().nameOf(RateLimit)).toBe('rate-limit');
    expect(registry().classOf('rate-limit')).toBe(RateLimit);
    expect(registry().find('rate-limit')).toBeUndefined();
    expect(() => registry().registerData('Named', RateLimit, 'Middleware')).toThrow(
      expect.objectContaining({ code: 'E_DUPLICATE_JOB' }),
    );
    expect(
      registry()
        .all()
        .map(({ target }) => target),
    ).toContain(Named);
  });
});

import { attachContext, chosenOf } from '../../src/job/choices';
import { definitionOfJob, definitionToSend } from '../../src/job/instance';
import { Job } from '../../src/job/job';
import type { JobContext } from '../../src/job/job-context';

const check = (job: object): void => void definitionToSend(job);

const contextOf = (calls: unknown[]): JobContext => ({
  id: 'id-1',
  name: 'Runs',
  queue: 'default',
  connectionName: 'redis',
  attempts: 2,
  fence: 7,
  maxTries: 3,
  signal: new AbortController().signal,
  stopping: new AbortController().signal,
  payload: {},
  chain: [],
  cause: undefined,
  batch: undefined,
  occurrence: undefined,
  appendToChain: () => undefined,
  prependToChain: () => undefined,
  step: async (_name, run) => run(),
  stepKey: (name) => name,
  checkpoint: async () => undefined,
  checkpointed: () => undefined,
  isReleased: false,
  isDeleted: false,
  hasFailed: false,
  release: (delay) => calls.push(['release', delay]),
  defer: (delay) => calls.push(['defer', delay]),
  fail: (error) => calls.push(['fail', error]),
  progress: () => undefined,
  log: () => undefined,
  delete: () => calls.push(['delete']),
});

@Job()
class Runs extends Job {
  constructor(readonly to = 'ada') {
    super();
  }
}

describe('a job instance', () => {
  it('keeps the chosen options out of its properties, so that only data travels', () => {
    const job = new Runs().onQueue('urgent').onConnection('redis').delay('5m');
    expect(chosenOf(job)).toEqual({ queue: 'urgent', connection: 'redis', delay: '5m' });
    expect(Object.keys(job)).toEqual(['to']);
    expect(chosenOf(job.withoutDelay())).toMatchObject({ delay: 0, queue: 'urgent' });
  });

  it('may choose options in its constructor', () => {
    @Job()
    class Chooses extends Job {
      constructor() {
        super();
        this.onQueue('from-constructor').delay(5);
      }
    }
    expect(chosenOf(new Chooses())).toEqual({ queue: 'from-constructor', delay: 5 });
  });

  it('has no chosen options if it chose none or does not extend Job', () => {
    expect(chosenOf(new Runs())).toEqual({});
    expect(chosenOf({})).toEqual({});
  });

  it('refuses an invalid choice where it is made', () => {
    expect(() => new Runs().onQueue('a,b')).toThrow(expect.objectContaining({ code: 'E_INVALID_QUEUE_NAME' }));
    expect(() => new Runs().onConnection('')).toThrow(expect.objectContaining({ code: 'E_INVALID_JOB_OPTION' }));
    expect(() => new Runs().delay('5 s')).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
  });

  it('has its context and the shorthand methods while it runs', () => {
    const calls: unknown[] = [];
    const job = new Runs();
    const context = contextOf(calls);
    attachContext(job, context);
    expect(job.job).toBe(context);
    expect([job.id, job.attempts, job.fence, job.signal]).toEqual(['id-1', 2, 7, context.signal]);
    job.release('30s');
    job.fail('no');
    job.delete();
    expect(calls).toEqual([['release', '30s'], ['fail', 'no'], ['delete']]);
    expect(Object.keys(job)).toEqual(['to']);
  });

  it.each(['job', 'id', 'attempts', 'fence', 'signal'] as const)(
    'says that this.%s exists only during a run',
    (member) => {
      expect(() => new Runs()[member]).toThrow(expect.objectContaining({ code: 'E_NOT_RUNNING' }));
      expect(() => new Runs()[member]).toThrow(`Runs.${member} exists only while the job runs`);
    },
  );

  it.each(['release', 'fail', 'delete'] as const)('says that this.%s() exists only during a run', (member) => {
    expect(() => new Runs()[member]()).toThrow(expect.objectContaining({ code: 'E_NOT_RUNNING' }));
  });

  it('may have an id of its own, which takes precedence and is data', () => {
    @Job()
    class OwnId extends Job {
      constructor(readonly id: number) {
        super();
      }
    }
    const job = new OwnId(42);
    attachContext(job, contextOf([]));
    expect(job.id).toBe(42);
    expect(JSON.stringify(job)).toBe('{"id":42}');
    expect(() => check(job)).not.toThrow();
  });
});

describe('an own property', () => {
  const refused = (name: string, value: unknown) => {
    const job = new Runs();
    Object.defineProperty(job, name, { value, enumerable: true });
    return () => check(job);
  };

  it.each(['connection', 'queue', 'delay', 'tries', 'backoff', 'timeout', 'failOnTimeout', 'maxCrashes', 'middleware'])(
    'is refused if it is named like an option: %s',
    (name) => {
      expect(refused(name, 'x')).toThrow(expect.objectContaining({ code: 'E_RESERVED_PROPERTY' }));
    },
  );

  it('is refused with both possible meanings if it is named like an option', () => {
    expect(refused('queue', 'mail')).toThrow(
      "Runs has an own property `queue`. If it is the job's option, write @Job({ queue: … }) or onQueue() instead; " +
        'if it is data, give it another name.',
    );
    expect(refused('maxCrashes', 1)).toThrow('write @Job({ maxCrashes: … }) instead');
    expect(refused('middleware', [])).toThrow('write a method middleware() instead');
  });

  it.each(['attempts', 'signal', 'fence', 'job', 'release', 'make', 'onQueue'])(
    'is refused if it would hide a member of Job: %s',
    (name) => {
      expect(refused(name, 1)).toThrow(`On a job, this.${name} belongs to the running job`);
    },
  );

  it.each(['attempts', 'signal', 'fence', 'job'])('is refused as soon as it is set if it is named %s', (name) => {
    expect(() => Object.assign(new Runs(), { [name]: 1 })).toThrow(
      expect.objectContaining({ code: 'E_RESERVED_PROPERTY' }),
    );
  });

  it('is refused with the file of its class', () => {
    expect(refused('queue', 'mail')).toThrow('give it another name. (test/job/instance.test.ts)');
    expect(refused('handle', () => {})).toThrow('cannot carry a function. (test/job/instance.test.ts)');
    expect(refused('make', 1)).toThrow('give your data another name. (test/job/instance.test.ts)');
    expect(() => Object.assign(new Runs(), { signal: 1 })).toThrow('another name. (test/job/instance.test.ts)');
  });

  it.each(['id', 'name', 'version', 'aliases', 'to'])('is data if it is named %s', (name) => {
    expect(refused(name, 1)).not.toThrow();
  });

  it('is data if it is named attempts, on a class that does not extend Job', () => {
    @Job()
    class PlainData {
      attempts = 1;
      signal = 'green';
    }
    expect(() => check(new PlainData())).not.toThrow();
  });

  it('is refused if it is named like an option on a class that does not extend Job', () => {
    // @ts-expect-error -- the compiler says so first
    @Job()
    class PlainOption {
      tries = 5;
    }
    expect(() => check(new PlainOption())).toThrow(expect.objectContaining({ code: 'E_RESERVED_PROPERTY' }));
  });

  it.each(['handle', 'failed', 'middleware', 'backoff'])('is refused if it is an arrow function named %s', (name) => {
    expect(refused(name, () => {})).toThrow(expect.objectContaining({ code: 'E_METHOD_IN_FIELD' }));
    expect(refused(name, () => {})).toThrow(`Runs.${name} is an arrow function in a field: write it as a method.`);
  });
});

describe('a class without its own @Job()', () => {
  class NeverDecorated extends Job {}
  class Grown extends Runs {}

  it('is refused with the name of the decorated parent', () => {
    expect(() => definitionOfJob(new Grown())).toThrow(expect.objectContaining({ code: 'E_UNDECORATED_JOB' }));
    expect(() => definitionOfJob(new Grown())).toThrow(
      'Grown extends Job but has no @Job(); only its parent Runs (test/job/instance.test.ts) has. Add @Job() above class Grown.',
    );
  });

  it('is refused if no parent is decorated either', () => {
    expect(() => definitionOfJob(new NeverDecorated())).toThrow(
      'NeverDecorated extends Job but has no @Job(). Add @Job() above class NeverDecorated.',
    );
    expect(() => definitionOfJob(new (class Odd {})())).toThrow('Odd is not a job: it has no @Job()');
  });

  it('is refused with the advice to create an instance if the class itself was passed', () => {
    expect(() => definitionOfJob(Runs)).toThrow(expect.objectContaining({ code: 'E_NOT_A_JOB' }));
    expect(() => definitionOfJob(Runs)).toThrow(
      'Runs: this is the class, but a job is an instance of it. Write new Runs(…).',
    );
    expect(() => definitionOfJob(class PlainClass {})).toThrow('Write new PlainClass(…).');
  });

  it.each([
    ['A plain object', {}],
    ['A plain object', Object.create(null)],
    ['A function', () => {}],
    ['A number', 7],
    ['undefined', undefined],
    ['null', null],
  ])('is not asked to decorate class Object for %s', (what, value) => {
    expect(() => definitionOfJob(value as object)).toThrow(`${what} is not a job. Write a class with @Job() above it`);
  });

  it('is refused if another decorator replaced the class', () => {
    const Replaced = { Runs: class Runs2 extends Runs {} }.Runs;
    Object.defineProperty(Replaced, 'name', { value: 'Runs' });
    expect(() => definitionOfJob(new Replaced())).toThrow('Add @Job() above class Runs, above its other decorators.');
  });
});

import { resolveWorkerOptions, type WorkerOptions } from '../../src/worker/worker-options';

describe('the options of a worker', () => {
  it('have defaults', () => {
    expect(resolveWorkerOptions({})).toEqual({
      connection: undefined,
      queues: undefined,
      fair: false,
      concurrency: 1,
      defaults: { tries: undefined, backoff: undefined, timeout: undefined },
      maxJobs: Infinity,
      maxTime: Infinity,
      memory: Infinity,
      schedule: true,
      sleep: 1,
      rest: 0,
      once: false,
      stopWhenEmpty: false,
      drain: false,
      grace: 30,
    });
  });

  it('take durations with units and memory in MB', () => {
    const resolved = resolveWorkerOptions({
      maxTime: '1h',
      sleep: '500ms',
      rest: 2,
      grace: '1m',
      timeout: '2m',
      memory: 2,
    });

    expect(resolved).toMatchObject({ maxTime: 3600, sleep: 0.5, rest: 2, grace: 60, memory: 2 * 1024 * 1024 });
    expect(resolved.defaults.timeout).toBe(120);
  });

  it('read 0 as no limit in the places where Laravel does', () => {
    expect(resolveWorkerOptions({ maxJobs: 0, maxTime: 0, memory: 0 })).toMatchObject({
      maxJobs: Infinity,
      maxTime: Infinity,
      memory: Infinity,
    });
  });

  it.each(['limiter', 'lockDuration', 'removeOnComplete', 'autorun', 'stalledInterval'])(
    'name the counterpart of an option of BullMQ: %s',
    (option) => {
      expect(() => resolveWorkerOptions({ [option]: 1 })).toThrow(/there is no such option: .{20,}/);
    },
  );

  it('must be an object, not a queue name', () => {
    expect(() => resolveWorkerOptions('mail' as never)).toThrow(
      "Worker: the first argument is 'mail'; give an object: new Worker({ queue: 'mail' }).",
    );
  });

  it('are quoted in errors, except for objects, which may contain a password', () => {
    expect(() => resolveWorkerOptions({ concurrency: '3' as never })).toThrow("Worker: concurrency is '3'; give a");
    expect(() => resolveWorkerOptions({ connection: { password: 'hush' } as never })).toThrow(
      'Worker: connection is an object; give a name.',
    );
  });

  it('treat once as a limit of one job', () => {
    expect(resolveWorkerOptions({ once: true, maxJobs: 50 }).maxJobs).toBe(1);
  });

  it.each<WorkerOptions>([{ concurrency: 0 }, { concurrency: 1.5 }, { tries: -1 }, { maxJobs: NaN }, { memory: -5 }])(
    'refuse values that are not whole numbers in range: %p',
    (options) => {
      expect(() => resolveWorkerOptions(options)).toThrow(expect.objectContaining({ code: 'E_INVALID_WORKER_OPTION' }));
    },
  );

  it('refuse an invalid duration and name the option', () => {
    expect(() => resolveWorkerOptions({ grace: '30 seconds' as '30s' })).toThrow(
      expect.objectContaining({ code: 'E_INVALID_DURATION' }),
    );
    expect(() => resolveWorkerOptions({ grace: '30 seconds' as '30s' })).toThrow(/grace of a worker/);
  });

  it('refuse an unknown option and suggest the nearest', () => {
    const misspelt = { concurency: 3 } as WorkerOptions;

    expect(() => resolveWorkerOptions(misspelt)).toThrow(/concurency.*did you mean concurrency/);
  });
});

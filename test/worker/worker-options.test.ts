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

  it('read 0 as no limit where Laravel does', () => {
    expect(resolveWorkerOptions({ maxJobs: 0, maxTime: 0, memory: 0 })).toMatchObject({
      maxJobs: Infinity,
      maxTime: Infinity,
      memory: Infinity,
    });
  });

  it.each(['limiter', 'lockDuration', 'removeOnComplete', 'autorun', 'stalledInterval'])(
    'say of one of BullMQ what there is in its place: %s',
    (option) => {
      expect(() => resolveWorkerOptions({ [option]: 1 })).toThrow(/there is no such option: .{20,}/);
    },
  );

  it('are an object, and no queue with a function', () => {
    expect(() => resolveWorkerOptions('mail' as never)).toThrow(
      "Worker: the first argument is 'mail'; give an object: new Worker({ queue: 'mail' }).",
    );
  });

  it('are quoted as they are, and an object, which may hold a password, is not', () => {
    expect(() => resolveWorkerOptions({ concurrency: '3' as never })).toThrow("Worker: concurrency is '3'; give a");
    expect(() => resolveWorkerOptions({ connection: { password: 'hush' } as never })).toThrow(
      'Worker: connection is an object; give a name.',
    );
  });

  it('make once one job at most', () => {
    expect(resolveWorkerOptions({ once: true, maxJobs: 50 }).maxJobs).toBe(1);
  });

  it.each<WorkerOptions>([{ concurrency: 0 }, { concurrency: 1.5 }, { tries: -1 }, { maxJobs: NaN }, { memory: -5 }])(
    'refuse what is no whole number in range: %p',
    (options) => {
      expect(() => resolveWorkerOptions(options)).toThrow(expect.objectContaining({ code: 'E_INVALID_WORKER_OPTION' }));
    },
  );

  it('refuse a duration that is none, with the option in the message', () => {
    expect(() => resolveWorkerOptions({ grace: '30 seconds' as '30s' })).toThrow(
      expect.objectContaining({ code: 'E_INVALID_DURATION' }),
    );
    expect(() => resolveWorkerOptions({ grace: '30 seconds' as '30s' })).toThrow(/grace of a worker/);
  });

  it('refuse an unknown one and name the nearest', () => {
    const misspelt = { concurency: 3 } as WorkerOptions;

    expect(() => resolveWorkerOptions(misspelt)).toThrow(/concurency.*did you mean concurrency/);
  });
});

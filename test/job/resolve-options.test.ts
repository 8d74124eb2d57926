import type { JobDefinition } from '../../src/job/registry';
import type { JobOptions } from '../../src/job/options';
import { backoffDelay, resolveBackoff } from '../../src/job/duration';
import { resolveChosen, resolveRoute, resolveRun } from '../../src/job/resolve-options';

const NOW = Date.UTC(2026, 10, 21);

const defined = (options: JobOptions): JobDefinition => ({
  name: 'SendEmail',
  aliases: [],
  version: undefined,
  upgrade: undefined,
  target: class SendEmail {},
  options,
  file: undefined,
});

const destinations = {
  settings: (name = 'redis') => ({ name, queue: `default-of-${name}` }),
};

describe('the route of a dispatch', () => {
  const all = { connection: 'a', queue: 'a', delay: 1 };
  const definition = defined({ connection: 'c', queue: 'c', delay: '3s' });

  it('prefers the dispatch to the instance, then @Job(), then the connection', () => {
    const instance = { connection: 'b', queue: 'b', delay: 2 };
    const route = (sources: object) =>
      resolveRoute({ dispatch: {}, instance: {}, definition: undefined, ...sources }, destinations);
    expect(route({ dispatch: all, instance, definition })).toEqual({ connection: 'a', queue: 'a', delay: 1 });
    expect(route({ instance, definition })).toEqual({ connection: 'b', queue: 'b', delay: 2 });
    expect(route({ definition })).toEqual({ connection: 'c', queue: 'c', delay: 3 });
    expect(route({})).toEqual({ connection: 'redis', queue: 'default-of-redis', delay: 0 });
    expect(route({ dispatch: { connection: 'x' } })).toMatchObject({ connection: 'x', queue: 'default-of-x' });
  });

  it('keeps an absolute moment, and lets a delay of 0 override @Job()', () => {
    const dispatch = { delay: new Date(NOW + 90_000) };
    const route = resolveRoute({ dispatch, instance: {}, definition }, destinations);
    expect(route).toMatchObject({ delay: 0, dueAt: NOW + 90_000 });
    expect(resolveRoute({ dispatch: { delay: 0 }, instance: {}, definition }, destinations).delay).toBe(0);
  });

  it('refuses an invalid queue or delay', () => {
    const of = (dispatch: object) => () => resolveRoute({ dispatch, instance: {}, definition }, destinations);
    expect(of({ queue: 'a,b' })).toThrow(expect.objectContaining({ code: 'E_INVALID_QUEUE_NAME' }));
    expect(of({ delay: '-5s' })).toThrow("the delay of SendEmail: '-5s' is not a duration");
  });
});

describe('the options that an instance chooses with methods', () => {
  it('are empty if it has no such methods', () => {
    expect(resolveChosen({}, defined({ tries: 5, timeout: '1m' }))).toEqual({});
  });

  it('come from its methods, called on the instance', () => {
    const job = {
      enough: 9,
      tries() {
        return this.enough;
      },
      timeout: () => '2m',
      retryUntil: () => new Date(NOW + 5),
    };
    expect(resolveChosen(job, defined({}))).toEqual({ tries: 9, timeout: 120, retryUntil: NOW + 5 });
  });

  it('keep a relative retryUntil as a span, to be counted by the clock of the store', () => {
    expect(resolveChosen({}, defined({ retryUntil: '1h' }))).toEqual({ retryWithin: 3600 });
    expect(resolveChosen({ retryUntil: () => '1s' }, defined({ retryUntil: '1h' }))).toEqual({ retryWithin: 1 });
  });

  it('are ignored if the method returns undefined', () => {
    expect(resolveChosen({ tries: () => undefined }, defined({}))).toEqual({});
  });

  it('are refused if they are invalid, with the name of the method', () => {
    expect(() => resolveChosen({ tries: async () => 3 }, defined({}))).toThrow(
      expect.objectContaining({ code: 'E_INVALID_JOB_OPTION' }),
    );
    expect(() => resolveChosen({ tries: () => -1 }, defined({}))).toThrow('tries() of SendEmail: -1 is not valid');
    expect(() => resolveChosen({ timeout: () => 'long' }, defined({}))).toThrow(
      expect.objectContaining({ code: 'E_INVALID_DURATION' }),
    );
  });
});

describe('the options of a run', () => {
  const worker = { tries: 7, timeout: 70, backoff: { delays: [7], jitter: 0 } };

  it('have defaults', () => {
    expect(resolveRun({ payload: {}, definition: undefined, worker: {} })).toEqual({
      tries: 1,
      backoff: { delays: [0], jitter: 0 },
      timeout: 60,
      failOnTimeout: false,
      maxCrashes: 3,
      maxExceptions: undefined,
      retryUntil: undefined,
    });
  });

  it('prefer the payload to @Job(), then the worker', () => {
    const definition = defined({ tries: 5, timeout: '50s', backoff: '5s', maxCrashes: 0, failOnTimeout: true });
    const payload = { tries: 3, timeout: 30, backoff: { delays: [3], jitter: 0 } };
    expect(resolveRun({ payload, definition, worker })).toMatchObject({
      ...payload,
      maxCrashes: 0,
      failOnTimeout: true,
    });
    expect(resolveRun({ payload: {}, definition, worker })).toMatchObject({
      tries: 5,
      timeout: 50,
      backoff: { delays: [5] },
    });
    expect(resolveRun({ payload: {}, definition: defined({}), worker })).toMatchObject(worker);
  });

  it('take 0 as no limit and no timeout, not as unset', () => {
    const run = resolveRun({ payload: { tries: 0 }, definition: defined({ timeout: 0 }), worker });
    expect(run).toMatchObject({ tries: 0, timeout: 0 });
  });

  it('take an absolute retryUntil from @Job(), but a span only from the payload', () => {
    const until = new Date(NOW);
    const run = (retryUntil: Date | '1h') => resolveRun({ payload: {}, definition: defined({ retryUntil }), worker });
    expect(run(until).retryUntil).toBe(NOW);
    expect(run('1h').retryUntil).toBeUndefined();
  });
});

describe('backoff', () => {
  const never = () => {
    throw new Error('no chance is needed here');
  };

  it('is one delay for all retries, or a list whose last entry repeats', () => {
    const delays = [1, 2, 3, 4].map((failures) =>
      backoffDelay(resolveBackoff(['10s', '1m', 300], 'b'), failures, never),
    );
    expect(delays).toEqual([10, 60, 300, 300]);
    expect(backoffDelay(resolveBackoff('5s', 'backoff'), 3, never)).toBe(5);
  });

  it('varies by its jitter in both directions', () => {
    const backoff = resolveBackoff({ delays: '10s', jitter: 0.2 }, 'backoff');
    const spread = [0, 0.5, 1].map((drawn) => backoffDelay(backoff, 1, () => drawn));
    expect(spread).toEqual([8, 10, 12]);
  });

  it.each<[object, number[], number]>([
    [{ exponential: '1s', max: '10s' }, [1, 2, 4, 8, 10], 0],
    [{ exponential: '700ms', max: '3s', jitter: false }, [0.7, 1.4, 2.8, 3], 0],
    [{ exponential: 5, max: 5 }, [5], 0],
    [{ exponential: '1s', max: '6s', jitter: true }, [1, 2, 4], 0.5],
    [{ exponential: '10h' }, [36_000, 72_000, 86_400], 0],
    [{ exponential: '2d' }, [172_800], 0],
  ])('doubles each time if it is exponential: %p', (backoff, delays, jitter) => {
    expect(resolveBackoff(backoff, 'backoff')).toEqual({ delays, jitter });
  });

  it('never exceeds max, whatever the jitter', () => {
    const backoff = resolveBackoff({ exponential: '1s', max: '10m', jitter: 0.3 }, 'backoff');
    const longest = Array.from({ length: 20 }, (_, failures) => backoffDelay(backoff, failures + 1, () => 1));

    expect(Math.max(...longest)).toBeLessThanOrEqual(600);
    expect(longest.at(-1)).toBeCloseTo(600, 0);
  });

  it.each([
    { exponential: 0 },
    { exponential: '1s', max: '500ms' },
    { exponential: '1s', delays: '1s' },
    { max: '1s' },
    { delays: '1s', max: '1s' },
    { type: 'exponential', delay: 1000 },
    { exponential: '1s', jitter: 'full' },
  ])('is refused if it is invalid, with a correct spelling: %p', (backoff) => {
    expect(() => resolveBackoff(backoff, 'backoff on SendEmail')).toThrow(
      expect.objectContaining({ code: 'E_INVALID_JOB_OPTION' }),
    );
  });

  it('refuses a nested list', () => {
    expect(() => resolveBackoff([['10s']], 'backoff')).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
  });
});

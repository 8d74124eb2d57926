import type { JobDefinition } from '../../src/job/definition';
import type { JobOptions } from '../../src/job/options';
import { backoffDelay, resolveBackoff } from '../../src/job/backoff';
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

  it('follows the dispatch before the instance before @Job() before the connection', () => {
    const instance = { connection: 'b', queue: 'b', delay: 2 };
    const route = (sources: object) =>
      resolveRoute({ dispatch: {}, instance: {}, definition: undefined, ...sources }, destinations);
    expect(route({ dispatch: all, instance, definition })).toEqual({ connection: 'a', queue: 'a', delay: 1 });
    expect(route({ instance, definition })).toEqual({ connection: 'b', queue: 'b', delay: 2 });
    expect(route({ definition })).toEqual({ connection: 'c', queue: 'c', delay: 3 });
    expect(route({})).toEqual({ connection: 'redis', queue: 'default-of-redis', delay: 0 });
    expect(route({ dispatch: { connection: 'x' } })).toMatchObject({ connection: 'x', queue: 'default-of-x' });
  });

  it('leaves a moment as it is, and takes no delay for an answer', () => {
    const dispatch = { delay: new Date(NOW + 90_000) };
    const route = resolveRoute({ dispatch, instance: {}, definition }, destinations);
    expect(route).toMatchObject({ delay: 0, dueAt: NOW + 90_000 });
    expect(resolveRoute({ dispatch: { delay: 0 }, instance: {}, definition }, destinations).delay).toBe(0);
  });

  it('refuses a queue or a delay that cannot be', () => {
    const of = (dispatch: object) => () => resolveRoute({ dispatch, instance: {}, definition }, destinations);
    expect(of({ queue: 'a,b' })).toThrow(expect.objectContaining({ code: 'E_INVALID_QUEUE_NAME' }));
    expect(of({ delay: '-5s' })).toThrow("the delay of SendEmail: '-5s' is not a duration");
  });
});

describe('what an instance chose for its runs', () => {
  it('is nothing where it has no such methods', () => {
    expect(resolveChosen({}, defined({ tries: 5, timeout: '1m' }))).toEqual({});
  });

  it('comes from its methods, called on it', () => {
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

  it('holds a span of retryUntil, also one of @Job(), for the clock of the store to reckon with', () => {
    expect(resolveChosen({}, defined({ retryUntil: '1h' }))).toEqual({ retryWithin: 3600 });
    expect(resolveChosen({ retryUntil: () => '1s' }, defined({ retryUntil: '1h' }))).toEqual({ retryWithin: 1 });
  });

  it('may be nothing after all', () => {
    expect(resolveChosen({ tries: () => undefined }, defined({}))).toEqual({});
  });

  it('is refused where it cannot be, naming the method', () => {
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

  it('have defaults where nobody says anything', () => {
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

  it('follow the payload before @Job() before the worker', () => {
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

  it('let 0 mean no limit and no timeout, rather than nothing', () => {
    const run = resolveRun({ payload: { tries: 0 }, definition: defined({ timeout: 0 }), worker });
    expect(run).toMatchObject({ tries: 0, timeout: 0 });
  });

  it('take a moment of retryUntil from @Job(), a span only from the payload', () => {
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

  it('is one delay for all, or a list whose last repeats', () => {
    const delays = [1, 2, 3, 4].map((failures) =>
      backoffDelay(resolveBackoff(['10s', '1m', 300], 'b'), failures, never),
    );
    expect(delays).toEqual([10, 60, 300, 300]);
    expect(backoffDelay(resolveBackoff('5s', 'backoff'), 3, never)).toBe(5);
  });

  it('spreads by its jitter to both sides', () => {
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
  ])('is doubled each time where it is exponential: %p', (backoff, delays, jitter) => {
    expect(resolveBackoff(backoff, 'backoff')).toEqual({ delays, jitter });
  });

  it('never waits longer than max, whatever the jitter', () => {
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
  ])('refuses one that cannot be, and says how it is written: %p', (backoff) => {
    expect(() => resolveBackoff(backoff, 'backoff on SendEmail')).toThrow(
      expect.objectContaining({ code: 'E_INVALID_JOB_OPTION' }),
    );
  });

  it('refuses a list in a list', () => {
    expect(() => resolveBackoff([['10s']], 'backoff')).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
  });
});

import { deferOn } from '../../src/limits/deferral';
import type { Delay } from '../../src/job/duration';
import { setTheScene, application } from '../worker/executor-scene';
import { run, scene } from './scene';

setTheScene();

class TooManyRequests extends Error {
  constructor(readonly retryAfter: Delay | undefined) {
    super('429');
  }
}

const soon = (milliseconds: number): Date => new Date(application.clock.now() + milliseconds);

afterEach(() => (scene.behave = () => undefined));

/** How a run ends that throws this error. */
async function thrown(error: Error) {
  scene.layers = () => [deferOn(TooManyRequests, ({ retryAfter }) => retryAfter)];
  scene.behave = () => {
    throw error;
  };
  return run();
}

describe('deferOn', () => {
  it.each<[string, () => Delay, number]>([
    ['a number of seconds', () => 30, 30],
    ['a duration', () => '2m', 120],
    ['a moment', () => soon(90_000), 90],
    ['a day', () => '1d', 86_400],
  ])('puts a job off at no cost for as long as its error says: %s', async (_what, wait, delay) => {
    const { settlement, error } = await thrown(new TooManyRequests(wait()));
    expect(settlement).toMatchObject({
      outcome: 'released',
      delay,
      counters: { attempts: 0, exceptions: 0, releases: 1 },
    });
    expect(error).toBeUndefined();
  });

  it.each<[string, () => Error]>([
    ['another error', () => new Error('no')],
    ['an error that does not say when', () => new TooManyRequests(undefined)],
    ['a moment that has passed', () => new TooManyRequests(soon(-1000))],
    ['no time at all, for ever', () => new TooManyRequests(0)],
    ['more than a day', () => new TooManyRequests('25h')],
    ['a moment in a year', () => new TooManyRequests(soon(365 * 86_400_000))],
  ])('leaves the job its failed attempt and its backoff for %s', async (_what, make) => {
    const error = make();
    const ended = await thrown(error);
    expect(ended.settlement).toMatchObject({
      outcome: 'released',
      delay: 60,
      counters: { attempts: 1, exceptions: 1 },
    });
    expect(ended.error).toBe(error);
  });

  it.each([
    ['a text without a unit', '30'],
    ['a negative number', -5],
    ['an invalid date', new Date(Number.NaN)],
    ['a promise', Promise.resolve(5)],
  ])('says what is wrong with the answer if it is %s, and keeps the error of the job', async (_what, answer) => {
    const error = new TooManyRequests(answer as never);
    const ended = await thrown(error);
    expect(ended.settlement).toMatchObject({ outcome: 'released', counters: { exceptions: 1 } });
    expect(ended.error).toMatchObject({ code: 'E_INVALID_MIDDLEWARE_ARGUMENT', cause: error });
    expect(ended.error!.message).toContain(
      "Return a number of seconds, a duration such as '30s', a Date, or undefined.",
    );
  });

  it.each<[string, () => unknown]>([
    ['no class', () => deferOn(undefined as never, () => 5)],
    ['an error in place of its class', () => deferOn(new Error('no') as never, () => 5)],
    ['a class that is no error', () => deferOn(Map as never, () => 5)],
    ['a time in place of the function', () => deferOn(TooManyRequests, '5s' as never)],
    ['no function', () => deferOn(TooManyRequests, undefined as never)],
  ])('refuses %s when it is called', (_what, call) => {
    expect(call).toThrow(
      expect.objectContaining({
        code: 'E_INVALID_MIDDLEWARE_ARGUMENT',
        message: expect.stringContaining('Give an error class, and a function of the error: deferOn(TooManyRequests'),
      }),
    );
  });
});

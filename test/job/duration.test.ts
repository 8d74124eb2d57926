import * as fc from '../support/properties';
import {
  checkDelay,
  momentOf,
  duration,
  durationSeconds,
  isSuspiciouslyManySeconds,
  warnOfManySeconds,
} from '../../src/job/duration';
import { Job } from '../../src/job/job';
import { registry } from '../../src/job/registry';
import { resolveRoute } from '../../src/job/resolve-options';
import { resolveWorkerOptions } from '../../src/worker/worker-options';

const seconds = (value: unknown): number => durationSeconds(value, 'timeout on SendEmail');

it('durations are not given with the rounding errors of floating point', () => {
  expect(['700ms', '1.1m', '0.1s', '29ms'].map((text) => durationSeconds(text, 'x'))).toEqual([0.7, 66, 0.1, 0.029]);
});

describe('a duration', () => {
  it.each([
    ['500ms', 0.5],
    ['30s', 30],
    ['1.5h', 5400],
    ['10m', 600],
    ['2h', 7200],
    ['1d', 86_400],
    ['0s', 0],
    [90, 90],
    [0.25, 0.25],
    [0, 0],
  ])('%p is %p seconds', (written, expected) => {
    expect(seconds(written)).toBe(expected);
  });

  it.each([
    '-5s',
    '1e3s',
    ' 5s',
    '5s ',
    '5 s',
    '5',
    's',
    '',
    '5S',
    '1h30m',
    '2 minutes',
    'Infinitys',
    '0x10s',
    '9'.repeat(400) + 'd',
    '9999999999d',
    NaN,
    Infinity,
    -1,
    1.7e12,
    null,
    undefined,
    true,
    5n,
    {},
    [10],
    new Date(0),
  ])('%p is refused', (written) => {
    expect(() => seconds(written)).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
  });

  it('is refused with a message that says the value, its purpose and a correct spelling', () => {
    expect(() => seconds('2 minutes')).toThrow(
      "timeout on SendEmail: '2 minutes' is not a duration. Write '2m' (units: ms, s, m, h, d), or a number of seconds.",
    );
    expect(() => seconds(' 5s')).toThrow("Write '5s'");
    expect(() => seconds('1e3s')).toThrow("Write '1000s'");
    expect(() => seconds('3 months')).toThrow("Write '2m'");
    expect(() => seconds(-1)).toThrow('-1 is negative');
    expect(() => seconds(1.7e12)).toThrow('1700000000000 is longer than 3000 years');
    expect(() => seconds('9999999999d')).toThrow("'9999999999d' is longer than 3000 years. Write '2m'");
  });

  it('accepts a string either as a number of seconds or not at all', () => {
    const amounts = fc.tuple(fc.nat(100_000), fc.constantFrom('ms', 's', 'm', 'h', 'd'));
    fc.assert(
      fc.property(amounts, ([amount, unit]) => {
        const unitInSeconds = seconds(`1${unit}`);
        expect(seconds(`${amount}${unit}`)).toBeCloseTo(amount * unitInSeconds, 6);
      }),
    );
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!/^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text));
        expect(() => seconds(text)).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
      }),
    );
  });

  it('can be checked with duration()', () => {
    expect(duration('10s')).toBe('10s');
    expect(() => duration('soon')).toThrow(expect.objectContaining({ code: 'E_INVALID_DURATION' }));
  });

  it('is suspicious if it is a bare number from 1000 on, but never with a unit', () => {
    expect([999, 1000, '5000s'].map(isSuspiciouslyManySeconds)).toEqual([false, true, false]);
  });
});

describe('a bare number that was probably meant as milliseconds', () => {
  it('is warned about, with both possible spellings', () => {
    const emit = jest.spyOn(process, 'emitWarning').mockImplementation();
    warnOfManySeconds(30_000, 'timeout on Slow');
    expect(emit.mock.calls).toEqual([
      [
        "timeout on Slow: a number is seconds, and 30000 is 8.3 hours. Write '30s' if milliseconds were meant, '30000s' if not.",
        { type: 'OnqueueWarning', code: 'ONQUEUE_SECONDS' },
      ],
    ]);
  });

  it('is warned about only once for each option', () => {
    const emit = jest.spyOn(process, 'emitWarning').mockImplementation();
    for (const subject of ['first', 'first', 'second']) warnOfManySeconds(1000, subject);
    expect(emit.mock.calls.map(([message]) => String(message).split(':')[0])).toEqual(['first', 'second']);
  });

  it('is shown in a readable unit', () => {
    const emit = jest.spyOn(process, 'emitWarning').mockImplementation();
    for (const value of [1500, 172_800_000]) warnOfManySeconds(value, `of ${value}`);
    expect(emit.mock.calls.map(([message]) => / is ([\d.]+ \w+)/.exec(String(message))?.[1])).toEqual([
      '25 minutes',
      '2000 days',
    ]);
  });

  it.each([['30000s'], [999], [undefined], [new Date()]])('is not suspected in %p', (value) => {
    const emit = jest.spyOn(process, 'emitWarning').mockImplementation();
    warnOfManySeconds(value, 'quiet');
    expect(emit).not.toHaveBeenCalled();
  });

  it('is warned about in every option except those that are often long', () => {
    const emit = jest.spyOn(process, 'emitWarning').mockImplementation();
    const long = { timeout: 1001, delay: 1002, backoff: [10, 1003], retryUntil: 1004 };
    @Job(long)
    class Slow extends Job {}
    Job({ backoff: { delays: 1005 } })(class Jittered extends Job {});
    const definition = registry().definitionOf(Slow);
    const destinations = { settings: () => ({ name: 'main', queue: 'x' }) };
    resolveRoute({ dispatch: { delay: 1006 }, instance: {}, definition }, destinations);
    resolveRoute({ dispatch: {}, instance: {}, definition }, destinations);
    resolveWorkerOptions({ backoff: [1007], timeout: 1008, sleep: 1009, rest: 1010, grace: 1011, maxTime: 1012 });
    const numbers = emit.mock.calls.map(([message]) => Number(/and (\d+) is/.exec(String(message))?.[1]));
    expect(numbers).toEqual([1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1010, 1011]);
  });

  afterEach(() => jest.restoreAllMocks());
});

describe('a delay', () => {
  const now = Date.UTC(2026, 10, 21);

  it('may be a duration or a date', () => {
    expect(() => checkDelay('10m', 'delay')).not.toThrow();
    expect(() => checkDelay(new Date(now), 'delay')).not.toThrow();
    expect(momentOf(new Date(now), 'delay')).toBe(now);
  });

  it('is refused if it is an invalid date', () => {
    expect(() => checkDelay(new Date('soon'), 'delay of X')).toThrow('delay of X: Invalid Date is not a duration');
  });
});

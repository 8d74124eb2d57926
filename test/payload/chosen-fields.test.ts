import { readChosen } from '../../src/payload/payload-text';
import { InvalidPayloadError } from '../../src/payload/errors';

describe('the run options in a payload', () => {
  it('are empty if all fields are null, as Laravel writes them', () => {
    const fields = { maxTries: null, maxExceptions: null, backoff: null, timeout: null, retryUntil: null, delay: 600 };

    expect(readChosen(fields, true)).toEqual({});
  });

  it.each([
    [10, [10]],
    ['10', [10]],
    ['1,5, 10', [1, 5, 10]],
    [
      [1, '5'],
      [1, 5],
    ],
    [0.5, [0.5]],
  ])('accept the backoff %j as the delays %j', (backoff, delays) => {
    expect(readChosen({ backoff }, true).backoff).toEqual({ delays, jitter: 0 });
  });

  it.each(['', null, []])('accept the backoff %j as no backoff', (backoff) => {
    expect(readChosen({ backoff }, true).backoff).toBeUndefined();
  });

  it('accept numbers as strings, and the last moment in Unix seconds, under its older name too', () => {
    expect(readChosen({ maxTries: '3', timeout: '10.5', timeoutAt: 1763683200 }, true)).toMatchObject({
      tries: 3,
      timeout: 10.5,
      retryUntil: 1_763_683_200_000,
    });
    expect(readChosen({ timeoutAt: 1, retryUntil: 2 }, true).retryUntil).toBe(2000);
  });

  it('ignore a failOnTimeout of false, which Laravel writes into every payload', () => {
    expect(readChosen({ failOnTimeout: false }, true).failOnTimeout).toBeUndefined();
    expect(readChosen({ failOnTimeout: true }, true).failOnTimeout).toBe(true);
    expect(readChosen({ failOnTimeout: false }, false).failOnTimeout).toBe(false);
    expect(readChosen({ failOnTimeout: 1 }, true).failOnTimeout).toBe(true);
  });

  it.each<[string, unknown]>([
    ['maxTries', 'many'],
    ['maxTries', -1],
    ['maxTries', 1.5],
    ['maxTries', true],
    ['maxTries', ' '],
    ['maxExceptions', {}],
    ['maxCrashes', '1.5'],
    ['timeout', [60]],
    ['timeout', 'Infinity'],
    ['retryUntil', 'tomorrow'],
    ['timeoutAt', false],
    ['backoff', '10,x'],
    ['backoff', '10,,20'],
    ['backoff', [-1]],
    ['backoff', { delays: 1 }],
    ['failOnTimeout', 'yes'],
  ])('are refused with a JSON Pointer if %s is %j', (field, value) => {
    const read = (): unknown => readChosen({ [field]: value }, true);

    expect(read).toThrow(InvalidPayloadError);
    expect(read).toThrow(`/${field}: expected`);
  });

  it('are refused if the jitter is more than 1', () => {
    expect(() => readChosen({ backoff: 1, jitter: 2 }, false)).toThrow('/jitter: expected a share from 0 to 1');
  });
});

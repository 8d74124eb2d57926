import type { RunOptions } from '../../src/job/options';
import { noCounters } from '../../src/payload/counters';
import { isLastAttempt, refusalOf } from '../../src/worker/outcome';
import { JobTimedOutError } from '../../src/worker/errors';

const options: RunOptions = {
  tries: 3,
  backoff: { delays: [0], jitter: 0 },
  timeout: 60,
  failOnTimeout: false,
  maxCrashes: 3,
  maxExceptions: undefined,
  retryUntil: undefined,
};
const job = { name: 'SendEmail', id: '1' };
const counters = (some: Partial<typeof noCounters>): typeof noCounters => ({ ...noCounters, ...some });

describe('a reserved job is refused', () => {
  it('when this would be one attempt more than its tries', () => {
    expect(refusalOf(job, counters({ attempts: 3 }), options, 0)).toBeUndefined();
    expect(refusalOf(job, counters({ attempts: 4 }), options, 0)).toMatchObject({ code: 'E_MAX_ATTEMPTS_EXCEEDED' });
  });

  it('with a mention of its timeouts, which its last worker may not have been able to log', () => {
    const refusal = refusalOf(job, counters({ attempts: 4, timeouts: 2 }), options, 0);

    expect(refusal?.message).toContain('has used up its tries (3, of which 2 timed out): this would be attempt 4.');
  });

  it('never for its attempts when tries is 0', () => {
    expect(refusalOf(job, counters({ attempts: 1000 }), { ...options, tries: 0 }, 0)).toBeUndefined();
  });

  it('when retryUntil has passed, whatever its tries say', () => {
    const until = { ...options, retryUntil: 1000 };

    expect(refusalOf(job, counters({ attempts: 9 }), until, 1000)).toBeUndefined();
    expect(refusalOf(job, counters({ attempts: 1 }), until, 1001)).toMatchObject({ code: 'E_MAX_ATTEMPTS_EXCEEDED' });
  });

  it('as poison when its leases ran out maxCrashes times', () => {
    expect(refusalOf(job, counters({ attempts: 1, crashes: 2 }), options, 0)).toBeUndefined();
    expect(refusalOf(job, counters({ attempts: 1, crashes: 3 }), options, 0)).toMatchObject({ code: 'E_POISON_JOB' });
  });

  it('after an attempt that timed out, if failOnTimeout is set', () => {
    const timedOut = counters({ attempts: 2, exceptions: 1, timeouts: 1 });

    expect(refusalOf(job, timedOut, { ...options, failOnTimeout: true }, 0)).toBeInstanceOf(JobTimedOutError);
    expect(refusalOf(job, timedOut, options, 0)).toBeUndefined();
  });

  it('when its attempts have thrown as often as maxExceptions allows', () => {
    const unlimited = { ...options, tries: 0, maxExceptions: 2 };

    expect(refusalOf(job, counters({ attempts: 9, exceptions: 1 }), unlimited, 0)).toBeUndefined();
    expect(refusalOf(job, counters({ attempts: 9, exceptions: 2 }), unlimited, 0)).toMatchObject({
      code: 'E_MAX_EXCEPTIONS_EXCEEDED',
    });
  });

  it('never as poison when maxCrashes is 0', () => {
    expect(refusalOf(job, counters({ attempts: 1, crashes: 99 }), { ...options, maxCrashes: 0 }, 0)).toBeUndefined();
  });
});

describe('a throw is the last', () => {
  it('when the attempt was the last of its tries', () => {
    expect(isLastAttempt(counters({ attempts: 2 }), options, 0, false)).toBe(false);
    expect(isLastAttempt(counters({ attempts: 3 }), options, 0, false)).toBe(true);
  });

  it('never when tries is 0', () => {
    expect(isLastAttempt(counters({ attempts: 500 }), { ...options, tries: 0 }, 0, false)).toBe(false);
  });

  it('when it is the last exception that maxExceptions allows', () => {
    const few = { ...options, tries: 10, maxExceptions: 2 };

    expect(isLastAttempt(counters({ attempts: 1 }), few, 0, false)).toBe(false);
    expect(isLastAttempt(counters({ attempts: 5, exceptions: 1 }), few, 0, false)).toBe(true);
  });

  it('when retryUntil has passed, and not before, however many attempts there were', () => {
    const until = { ...options, retryUntil: 1000 };

    expect(isLastAttempt(counters({ attempts: 99 }), until, 999, false)).toBe(false);
    expect(isLastAttempt(counters({ attempts: 1 }), until, 1000, false)).toBe(true);
  });

  it('at the first timeout under failOnTimeout', () => {
    const strict = { ...options, failOnTimeout: true };

    expect(isLastAttempt(counters({ attempts: 1 }), strict, 0, true)).toBe(true);
    expect(isLastAttempt(counters({ attempts: 1 }), strict, 0, false)).toBe(false);
  });
});

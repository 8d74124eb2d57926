import { retriedPayload } from '../../src/application/failed/failed-jobs';
import { Job } from '../../src/job/job';
import { noCounters, withCounters } from '../../src/payload/counters';
import { unknownJob } from '../../src/worker/errors';
import { RunningJob } from '../../src/worker/running-job';
import { payloadOf, reserved } from '../support/reservation';
import { Act, act, application, calls, executor, run, setTheScene } from './executor-scene';

setTheScene();

describe('an outcome', () => {
  it('is completed when handle returns', async () => {
    act.behave = () => 'done';
    const job = reserved(application.manager, payloadOf(new Act()));

    const outcome = await executor.run(job);

    expect(outcome.settlement.outcome).toBe('completed');
    expect(job.value).toBe('done');
  });

  it('is a release with the backoff of this failure when handle throws and tries are left', async () => {
    act.behave = () => {
      throw new Error('no luck');
    };

    const first = await run(new Act());
    const second = await run(new Act(), { attempts: 2, exceptions: 1 });

    expect(first.settlement).toMatchObject({
      outcome: 'released',
      delay: 10,
      counters: { attempts: 1, exceptions: 1 },
    });
    expect(second.settlement).toMatchObject({
      outcome: 'released',
      delay: 60,
      counters: { attempts: 2, exceptions: 2 },
    });
  });

  it('takes its backoff from the number of failures, not of releases that the job asked for', async () => {
    act.behave = () => {
      throw new Error('no luck');
    };

    const { settlement } = await run(new Act(), { attempts: 2, exceptions: 0 });

    expect(settlement).toMatchObject({ delay: 10 });
  });

  it('is a failure with the text of the error when the last try throws', async () => {
    act.behave = () => {
      throw new Error('for good', { cause: new Error('the root') });
    };

    const { settlement, error } = await run(new Act(), { attempts: 3, exceptions: 2 });

    expect(error?.message).toBe('for good');
    expect(settlement).toMatchObject({ outcome: 'failed', failure: { id: 'the-id', name: 'Act' } });
    expect(settlement).toHaveProperty(
      'failure.exception',
      expect.stringMatching(/for good[\s\S]*Caused by: .*the root/),
    );
  });

  it.each([
    ['at once', (value: unknown) => value],
    ['through a promise', async (value: unknown) => value],
  ])('is a failed attempt when handle returns, %s, a value that cannot even be inspected', async (_how, give) => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    act.behave = () => give(proxy);

    expect((await run(new Act())).error?.message).toContain('a proxy that has been revoked');
  });

  it('is a failure at once when the payload cannot be read', async () => {
    const { settlement, error } = await executor.run(reserved(application.manager, Buffer.from('{"job":"onqueue"}')));

    expect(settlement.outcome).toBe('failed');
    expect(error).toHaveProperty('code', 'E_INVALID_PAYLOAD');
  });

  it.each([
    ['release', 'released', (job: Act) => job.release('2m')],
    ['defer', 'released', (job: Act) => job.job.defer('2m')],
    ['fail', 'failed', (job: Act) => job.fail('enough')],
    ['delete', 'completed', (job: Act) => job.delete()],
  ] as const)('follows %s, and a throw after it is only reported', async (_name, outcome, end) => {
    const reported: unknown[] = [];
    application.manager.onError((error) => reported.push(error));
    const afterwards = new Error('too late');
    act.behave = (job) => {
      end(job);
      throw afterwards;
    };

    const { settlement } = await run(new Act());

    expect(settlement.outcome).toBe(outcome);
    expect(reported).toEqual([afterwards]);
  });

  it('follows the first of release, fail and delete', async () => {
    act.behave = (job) => {
      job.release('1m');
      job.fail('no');
      job.delete();
    };

    expect((await run(new Act())).settlement).toMatchObject({ outcome: 'released', delay: 60 });
  });

  it('costs a try when the job releases itself', async () => {
    act.behave = (job) => job.release();

    expect((await run(new Act())).settlement).toMatchObject({ delay: 0, counters: { attempts: 1, releases: 0 } });
  });

  it('costs no try when the job defers itself', async () => {
    act.behave = (job) => job.job.defer('10m');

    expect((await run(new Act())).settlement).toMatchObject({ delay: 600, counters: { attempts: 0, releases: 1 } });
  });

  it.each([
    ['released', (job: Act) => job.release()],
    ['released', (job: Act) => job.job.defer()],
    ['released', () => Promise.reject(new Error('no'))],
    ['deleted', (job: Act) => job.delete()],
    ['deleted', () => 'done'],
    ['failed', (job: Act) => job.fail()],
  ])('is known to the job and its hooks: %s', async (end, behave) => {
    act.behave = behave;
    const job = reserved(application.manager, payloadOf(new Act()));
    const said = { isReleased: job.isReleased, isDeleted: job.isDeleted, hasFailed: job.hasFailed };

    await executor.run(job);

    expect(said).toEqual({ isReleased: false, isDeleted: false, hasFailed: false });
    expect([job.isReleased, job.isDeleted, job.hasFailed]).toEqual(
      ['released', 'deleted', 'failed'].map((x) => x === end),
    );
    expect(job.maxTries).toBe(3);
  });

  it('is a failed attempt when release() is given what is not a duration', async () => {
    act.behave = (job) => job.release('soon' as '1s');

    const { settlement, error } = await run(new Act());

    expect(settlement).toMatchObject({ outcome: 'released', delay: 10 });
    expect(error).toHaveProperty('code', 'E_INVALID_DURATION');
  });

  it('wraps a thrown value that is not an error in an error', async () => {
    act.behave = () => {
      throw 'just text';
    };

    expect((await run(new Act(), { attempts: 3 })).error?.message).toContain('just text');
  });
});

describe('a job is not run', () => {
  it('when its tries are used up, and fails', async () => {
    const { settlement, error } = await run(new Act(), { attempts: 4 });

    expect(settlement.outcome).toBe('failed');
    expect(error).toMatchObject({ code: 'E_MAX_ATTEMPTS_EXCEEDED' });
    expect(calls).toEqual([]);
  });

  it('when its leases expired too often, and fails as poison', async () => {
    expect((await run(new Act(), { crashes: 3 })).error).toMatchObject({ code: 'E_POISON_JOB' });
    expect(calls).toEqual([]);
  });

  it('or even parsed when it crashed more often than any job may', async () => {
    const { error } = await executor.run(
      reserved(application.manager, Buffer.from('{"not":"readable"}'), { crashes: 4 }),
    );

    expect(error).toMatchObject({ code: 'E_POISON_JOB' });
  });

  it.each([
    ['', payloadOf(new Act()), {}],
    [', even if it counts as poison', payloadOf(new Act()), { crashes: 4 }],
    [', even if it cannot be read', Buffer.from('{"not":"readable"}'), {}],
    [
      ', even if its name is unknown',
      Buffer.from('{"job":"onqueue","displayName":"Nobody","data":{"commandName":"Nobody","command":{}},"id":"1"}'),
      {},
    ],
    [', even if its tries are used up', payloadOf(new Act()), { attempts: 4 }],
  ])('when it was cancelled%s', async (_why, payload, counters) => {
    const { reservation } = reserved(application.manager, payload, counters);
    const job = new RunningJob({ ...reservation, cancelled: true }, 'memory', application.manager);

    expect((await executor.run(job)).settlement.outcome).toBe('cancelled');
  });

  it('when a before hook ends it', async () => {
    application.manager.hooks.on('before', ({ job }) => job.delete());

    expect((await run(new Act())).settlement.outcome).toBe('completed');
    expect(calls).toEqual([]);
  });
});

describe('a job of an unknown name', () => {
  const unknown = Buffer.from(
    '{"displayName":"Akt","job":"onqueue","data":{"commandName":"Akt","command":{}},"id":"1"}',
  );

  it('is released without losing a try, and the reason suggests the nearest known name', async () => {
    const { settlement, reason } = await executor.run(reserved(application.manager, unknown));

    expect(settlement).toMatchObject({ outcome: 'released', delay: 1, counters: { attempts: 0, releases: 1 } });
    expect(reason).toMatchObject({ code: 'E_UNKNOWN_JOB' });
    expect(reason?.message).toMatch(/No job 'Akt' here.*Act/);
    expect(reason?.message).toContain("If its class was renamed: @Job({ aliases: ['Akt'] }).");
  });

  it('lists the registered jobs with their files in the reason if they are few, and otherwise their number', () => {
    const jobs = Array.from({ length: 11 }, (_, n) => ({ name: `Job${n}`, file: 'dist/jobs.js' }));

    expect(unknownJob('Send', [], jobs.slice(0, 2)).message).toContain(
      "No job 'Send' here. Registered: Job0 (dist/jobs.js), Job1 (dist/jobs.js). Import",
    );
    expect(unknownJob('Send', [], jobs.slice(0, 10)).message).toContain('Job9 (dist/jobs.js). Import');
    expect(unknownJob('Send', [], jobs).message).toContain('None of the 11 registered jobs');
    expect(unknownJob('Job3', ['Job3'], jobs).message).toContain('Registered: Job3 (dist/jobs.js). Import');
  });

  it('is found by the last part of a name with a namespace, as Laravel writes it', async () => {
    act.behave = () => undefined;
    const job = reserved(
      application.manager,
      Buffer.from('{"job":"App\\\\Jobs\\\\Act@handle","data":{"line":"from PHP"},"id":"1"}'),
    );

    await executor.run(job);

    expect(calls).toEqual(['handle from PHP']);
    expect(job.name).toBe('Act');
  });

  it('is also released if the unknown name occurs in the data of a known job', async () => {
    const nested = Buffer.from(
      '{"job":"onqueue","data":{"commandName":"Act","command":{"line":{}},"types":{"/line":"class:Elsewhere"}},"id":"1"}',
    );

    const { settlement, reason } = await executor.run(reserved(application.manager, nested));

    expect(settlement).toMatchObject({ outcome: 'released', counters: { attempts: 0 } });
    expect(reason?.message).toContain('Elsewhere');
  });

  it('comes back soon at first, then later and later', async () => {
    const delays: number[] = [];
    for (const releases of [0, 1, 19, 20, 24, 28, 100]) {
      const { settlement } = await executor.run(reserved(application.manager, unknown, { releases }));
      delays.push('delay' in settlement ? settlement.delay : NaN);
      await application.clock.advance('5m');
    }

    expect(delays).toEqual([1, 1, 1, 2, 32, 300, 300]);
  });

  it('comes back shortly after the previous one, if several are met together', async () => {
    const delays = await Promise.all(
      Array.from({ length: 3 }, async (_, n) => {
        const other = Buffer.from(unknown.toString().replace(/"id":"[^"]*"/, `"id":"other-${n}"`));
        const { settlement } = await executor.run(reserved(application.manager, other));
        return 'delay' in settlement ? settlement.delay : NaN;
      }),
    );

    expect(delays).toEqual([1, 1.02, 1.04]);
  });

  it('fails when it was released 288 times, which takes about a day', async () => {
    const begunAt = application.clock.monotonic();
    let releases = 0;
    let last = await executor.run(reserved(application.manager, unknown, { releases }));
    while (last.settlement.outcome === 'released') {
      await application.clock.advance(`${last.settlement.delay}s`);
      releases += 1;
      last = await executor.run(reserved(application.manager, unknown, { releases }));
    }

    expect(last.error).toMatchObject({ code: 'E_UNKNOWN_JOB' });
    expect(releases).toBe(288);
    expect(Math.round((application.clock.monotonic() - begunAt) / 3_600_000)).toBe(22);
  });

  it('is not failed for earlier releases by another worker', async () => {
    const { settlement } = await executor.run(reserved(application.manager, unknown, { releases: 500 }));

    expect(settlement).toMatchObject({ outcome: 'released', delay: 1 });
  });

  it('gets a full hour from a worker that has known its name for long, even if it was released often before', async () => {
    await executor.run(reserved(application.manager, unknown, { releases: 0 }));
    await application.clock.advance('2h');
    const deferred = Buffer.from(unknown.toString().replace(/"id":"[^"]*"/, '"id":"deferred"'));
    const meet = async (releases: number) =>
      (await executor.run(reserved(application.manager, deferred, { releases }))).settlement;

    expect(await meet(300)).toMatchObject({ outcome: 'released', delay: 1 });
    await application.clock.advance('59m');
    expect(await meet(301)).toMatchObject({ outcome: 'released' });
    await application.clock.advance('2m');
    expect(await meet(302)).toMatchObject({ outcome: 'failed' });
  });

  it('gets its full time again after a retry', async () => {
    const retried = retriedPayload(withCounters(unknown, { ...noCounters, attempts: 1, releases: 288 }), Date.now());
    const lookedAt = async (times: number) =>
      (await executor.run(reserved(application.manager, retried, { releases: 289 + times }))).settlement;

    expect(await lookedAt(0)).toMatchObject({ outcome: 'released', delay: 1 });
    await application.clock.advance('1d');
    expect(await lookedAt(287)).toMatchObject({ outcome: 'released', delay: 300 });
    expect(await lookedAt(288)).toMatchObject({ outcome: 'failed' });
  });

  it('is never failed if it is a job of a Laravel application', async () => {
    const illuminate = Buffer.from(
      '{"uuid":"u","displayName":"App\\\\Jobs\\\\Mail","job":"Illuminate\\\\Queue\\\\CallQueuedHandler@call","data":{"commandName":"App\\\\Jobs\\\\Mail","command":"O:1"},"id":"1"}',
    );

    const job = reserved(application.manager, illuminate, { releases: 9999 });
    const { settlement, reason } = await executor.run(job);

    expect(settlement).toMatchObject({ outcome: 'released', delay: 1 });
    expect(job.name).toBe('App\\Jobs\\Mail');
    expect(reason?.message).toMatch(
      /^App\\Jobs\\Mail 1 goes back to its queue for a worker of Laravel: no class here has @LaravelJob/,
    );
  });
});

it('exceptionOccurred is called for an error before its outcome is stored', async () => {
  application.manager.hooks.on('exceptionOccurred', ({ exception }) => calls.push(exception.message));
  act.behave = () => {
    throw new Error('no luck');
  };

  await run(new Act());

  expect(calls).toEqual(['handle line', 'no luck']);
});

it('a job’s own backoff(error) is asked when an attempt fails', async () => {
  @Job({ tries: 2 })
  class Patient extends Job {
    backoff(error: Error): number {
      return error.message.length;
    }
    handle(): void {
      throw new Error('12345');
    }
  }

  expect((await run(new Patient())).settlement).toMatchObject({ outcome: 'released', delay: 5 });
});

/** Handlers that run longer than their timeout. */
import { EventEmitter, once } from 'node:events';
import { Transform } from 'class-transformer';
import { exceptionText } from '../../src/base/exception-text';
import { Job } from '../../src/job/job';
import type { Counters } from '../../src/payload/counters';
import { JobTimedOutError } from '../../src/worker/errors';
import { Gate } from '../support/application';
import { payloadOf, reserved } from '../support/reservation';
import { Act, act, application, calls, executor, run, setTheScene } from './executor-scene';

setTheScene();

@Job({ timeout: 0 })
class Timeless extends Job {
  handle(): void {}
}

@Job({ backoff: '5s', tries: 2 })
class Dated extends Job {
  handle(): void {}

  backoff(error: Error): Date | undefined {
    if (!(error instanceof JobTimedOutError)) throw new Error('asked about another error');
    return this.attempts === 1 ? new Date(application.clock.now() + 100_000) : undefined;
  }
}

const decoding: { behave: () => void } = { behave: () => undefined };

@Job()
class Transformed extends Job {
  @Transform(() => decoding.behave(), { toClassOnly: true })
  data = 1;

  handle(): void {}
}

describe('a timeout', () => {
  it('aborts the signal and records a failed attempt when the handler stops', async () => {
    act.behave = (job) =>
      new Promise((_, reject) => {
        job.signal.addEventListener('abort', () => reject(job.signal.reason as Error));
      });

    const outcome = run(new Act());
    await application.clock.advance('60s');

    expect((await outcome).settlement).toMatchObject({ outcome: 'released', counters: { exceptions: 1 } });
    expect((await outcome).error).toBeInstanceOf(JobTimedOutError);
  });

  it.each([
    ['AbortError', (aborted: Error): Error => aborted],
    ['Error', (aborted: Error): Error => new Error('upload', { cause: aborted })],
  ])('keeps what the handler threw because of it, an %s, without a circle of causes', async (name, thrown) => {
    act.behave = ({ signal }) =>
      once(new EventEmitter(), 'never', { signal }).catch((error: Error) => {
        throw thrown(error);
      });

    const outcome = run(new Act());
    await application.clock.advance('60s');

    const { cause, message } = (await outcome).error!;
    expect(cause).toMatchObject({ name, message: thrown(new Error('The operation was aborted')).message });
    expect((cause as Error).cause).toBeUndefined();
    const text = exceptionText((await outcome).error!);
    expect(text.match(/Caused by/g)).toHaveLength(1);
    expect(text.split(message)).toHaveLength(2);
  });

  it('is recorded at the end of the grace even if the handler still runs, whose later result is refused', async () => {
    const gate = new Gate();
    act.behave = () => gate.opened;
    const job = reserved(application.manager, payloadOf(new Act()));
    const returned = new Promise<void>((resolve) => {
      job.onLateReturn = resolve;
    });

    const outcome = executor.run(job);
    await application.clock.advance('64s');
    expect(job.endedAs).toBeUndefined();
    await application.clock.advance('1s');

    expect((await outcome).error).toBeInstanceOf(JobTimedOutError);
    expect(job.handler).toBe('running');
    gate.open();
    await returned;
    expect(job.handler).toBe('came-back');
  });

  it('is not extended by a later cancellation, and is shortened by a stop', async () => {
    const gate = new Gate();
    act.behave = () => gate.opened;
    const jobs = [
      reserved(application.manager, payloadOf(new Act())),
      reserved(application.manager, payloadOf(new Act())),
    ] as const;
    const outcomes = jobs.map((job) => executor.run(job));
    await application.clock.advance('63s');

    jobs[0].abort(new Error('cancelled'), 5);
    jobs[1].abort(new Error('the worker stops'), 0.5);
    await application.clock.advance('500ms');
    expect(jobs.map(({ endedAs }) => endedAs !== undefined)).toEqual([false, true]);
    await application.clock.advance('1500ms');

    expect(jobs.map(({ endedAs }) => endedAs !== undefined)).toEqual([true, true]);
    gate.open();
    await Promise.all(outcomes);
  });

  it('ends the run once if its hooks take longer than the grace, or its slot would be counted as free twice', async () => {
    const [returned, heard] = [new Gate(), new Gate()];
    act.behave = () => returned.opened;
    application.manager.hooks.on('exceptionOccurred', () => heard.opened);
    let ends = 0;
    void executor.run(reserved(application.manager, payloadOf(new Act()))).then(() => (ends += 1));
    await application.clock.advance('60s');
    returned.open();

    await application.clock.advance('10s');
    expect(ends).toBe(0);
    heard.open();
    await application.clock.advance(0);

    expect(ends).toBe(1);
  });

  it('refuses a result that comes within the grace, because the attempt has failed', async () => {
    const gate = new Gate();
    act.behave = () => gate.opened;

    const outcome = run(new Act());
    await application.clock.advance('61s');
    gate.open();

    expect((await outcome).error).toBeInstanceOf(JobTimedOutError);
  });
});

describe('the outcome foreseen for a run that blocks the event loop', () => {
  async function foreseen(job: object, counters?: Partial<Counters>): Promise<object[]> {
    const running = reserved(application.manager, payloadOf(job), counters);
    const told: object[] = [];
    running.lease = {
      foresee: (within, delay) => told.push({ within, delay }),
      confirm: () => undefined,
      end: () => undefined,
    };
    decoding.behave = () => calls.push(`decoded after ${told.length}`);
    act.behave = () => calls.push(`handled after ${told.length}`);
    await executor.run(running);
    return told;
  }

  it('is announced before the run starts: a failed attempt after timeout and grace, with its backoff', async () => {
    const expected = { within: 65_000, delay: 60 };

    expect(await foreseen(new Act(), { exceptions: 1 })).toEqual([expected, expected]);
    expect(calls).toContain('handled after 2');
  });

  it('is announced before the data are decoded, which may take long or never end', async () => {
    await foreseen(new Transformed());

    expect(calls).toContain('decoded after 1');
  });

  it('has the delay of its own backoff(), or else of its options', async () => {
    expect((await foreseen(new Dated())).at(-1)).toEqual({ within: 65_000, delay: 35 });
    expect((await foreseen(new Dated(), { attempts: 2 })).at(-1)).toEqual({ within: 65_000, delay: 5 });
  });

  it('is not announced for a job without a timeout', async () => {
    expect(await foreseen(new Timeless())).toEqual([]);
  });
});

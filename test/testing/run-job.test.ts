import { Handles, Inject, Job, JobContext, Queue } from 'onqueue';
import { runJob, TestClock } from 'onqueue/testing';
import { Mailer, MakeReport, RunScript, seen, SendReport, SendWelcome } from './jobs';

@Job({ tries: 5, backoff: ['1s', '2s', '3s'] })
class Fragile extends Job {
  runs = 0;

  constructor(readonly message: string) {
    super();
  }

  handle(): void {
    this.runs += 1;
    throw new Error(this.message);
  }
}

const mailer = { send: async (to: string) => `sent to ${to}` };

beforeEach(() => Queue.configure({ connections: { main: { driver: 'redis', url: 'redis://127.0.0.1:1' } } }));

afterEach(async () => {
  seen.length = 0;
  RunScript.script = () => undefined;
  await Queue.close();
});

describe('running one job', () => {
  it('returns its outcome, with stubs for injected dependencies', async () => {
    const given = new SendWelcome('ada@example.org', new Date(1000));

    const result = await runJob(given, { stubs: [[Mailer, mailer]] });

    expect(result).toEqual({
      outcome: 'completed',
      name: 'SendWelcome',
      id: expect.any(String),
      connection: 'main',
      queue: 'mail',
      attempts: 1,
      job: given,
      value: 'sent to ada@example.org',
      delay: undefined,
      error: undefined,
      next: [],
      added: [],
      reported: [],
    });
    expect(result.job).not.toBe(given);
  });

  it('returns the instance as handle() left it', async () => {
    const given = new Fragile('broken');

    const { job } = await runJob(given);

    expect(job).toBeInstanceOf(Fragile);
    expect([job.runs, given.runs]).toEqual([1, 0]);
  });

  it('releases it after a failed attempt with the backoff of that attempt', async () => {
    expect(await runJob(new Fragile('broken'))).toMatchObject({
      outcome: 'released',
      attempts: 1,
      delay: 1,
      error: new Error('broken'),
    });
    expect(await runJob(new Fragile('broken'), { attempts: 3 })).toMatchObject({ attempts: 3, delay: 3 });
  });

  it('fails it in its last attempt and calls failed()', async () => {
    const stubs = [[Mailer, {}]] as const;

    const { outcome, error, value } = await runJob(new SendWelcome('ada@example.org'), { attempts: 2, stubs });

    expect([outcome, value]).toEqual(['failed', undefined]);
    expect(error).toBeInstanceOf(TypeError);
    expect(seen).toEqual(['welcome ada@example.org', expect.stringMatching(/^failed: .*send is not a function/)]);
  });

  it('refuses an attempt beyond its tries without running it', async () => {
    const given = new Fragile('broken');

    const { outcome, error, job } = await runJob(given, { attempts: 6 });

    expect([outcome, error]).toEqual(['failed', expect.objectContaining({ code: 'E_MAX_ATTEMPTS_EXCEEDED' })]);
    expect(job).toBe(given);
  });

  it.each([0, 1.5, -1])('refuses %p as the attempt', async (attempts) => {
    await expect(runJob(new MakeReport(), { attempts })).rejects.toMatchObject({ code: 'E_INVALID_JOB_OPTION' });
  });

  it('uses worker options for what the job does not set itself', async () => {
    RunScript.script = () => {
      throw new Error('broken');
    };

    expect(await runJob(new RunScript())).toMatchObject({ outcome: 'failed' });
    expect(await runJob(new RunScript(), { tries: 2, backoff: '7s' })).toMatchObject({ outcome: 'released', delay: 7 });
    await expect(runJob(new RunScript(), { tries: -1 })).rejects.toMatchObject({ code: 'E_INVALID_WORKER_OPTION' });
  });

  it('ends it at its timeout, by the given clock', async () => {
    const clock = new TestClock(0);
    const aborted: unknown[] = [];
    RunScript.script = ({ signal }) => {
      aborted.push(new Promise((resolve) => signal.addEventListener('abort', () => resolve(clock.now()))));
      return aborted[0];
    };

    const running = runJob(new RunScript(), { clock, timeout: '10s' });
    await clock.advance('10s');

    expect(await running).toMatchObject({ outcome: 'failed', error: { code: 'E_JOB_TIMED_OUT' } });
    expect(await Promise.all(aborted)).toEqual([10_000]);
    expect(clock.pending).toBe(0);
  });

  it('reports a job that released or failed itself', async () => {
    RunScript.script = (job) => job.release('30s');
    const released = await runJob(new RunScript(), { tries: 2 });
    expect(released).toMatchObject({ outcome: 'released', delay: 30, error: undefined });
    expect(await runJob(new RunScript())).toMatchObject({
      outcome: 'failed',
      error: { code: 'E_MAX_ATTEMPTS_EXCEEDED' },
    });

    RunScript.script = (job) => job.fail('enough');
    expect(await runJob(new RunScript())).toMatchObject({ outcome: 'failed', error: { message: 'enough' } });
  });

  it('runs the handler of a plain job with its dependencies', async () => {
    @Job({ name: 'run-job.plain' })
    class Plain {
      constructor(readonly to: string) {}
    }
    @Handles(Plain)
    class _PlainHandler {
      constructor(@Inject(Mailer) private readonly mailer: Mailer) {}

      async handle(job: Plain, @Inject(JobContext) context: JobContext): Promise<string> {
        return `${context.attempts}: ${await this.mailer.send(job.to)}`;
      }
    }

    const { value } = await runJob(new Plain('ada@example.org'), { stubs: [[Mailer, mailer]] });

    expect(value).toBe('1: sent to ada@example.org');
  });

  it('encodes the job first, and refuses what a queue cannot carry', async () => {
    const job = Object.assign(new MakeReport(), { callback: () => undefined });

    await expect(runJob(job)).rejects.toMatchObject({ code: 'E_UNSERIALIZABLE_VALUE' });
  });

  it('reports errors that changed no outcome', async () => {
    Queue.after(() => {
      throw new Error('in a hook');
    });

    const { outcome, reported } = await runJob(new SendReport('sales'));

    expect([outcome, reported]).toEqual(['completed', [new Error('in a hook')]]);
  });

  it('adds the payload fields of the program', async () => {
    Queue.createPayloadUsing(() => ({ tenant: 7 }));
    RunScript.script = ({ payload }) => payload['tenant'];

    expect((await runJob(new RunScript())).value).toBe(7);
  });

  it('uses stubs only for this run', async () => {
    const container = { resolve: () => ({ send: async () => 'by the container' }) };
    Queue.configure({ connections: { main: { driver: 'memory' } }, container });
    const job = new SendWelcome('ada@example.org');

    await runJob(job, { stubs: [[Mailer, mailer]] });

    expect((await runJob(job)).value).toBe('by the container');
  });
});

describe('running one job under a fake', () => {
  it('uses the stubs and the clock of the fake, but prefers its own stubs', async () => {
    const clock = new TestClock(0);
    using queue = Queue.fake({ clock, stubs: [[Mailer, mailer]] });
    const own = { send: async () => 'by its own' };
    RunScript.script = async ({ signal }) => {
      await clock.advance('61s');
      return signal.aborted;
    };

    expect((await runJob(new SendWelcome('ada@example.org'))).value).toBe('sent to ada@example.org');
    expect((await runJob(new SendWelcome('ada@example.org'), { stubs: [[Mailer, own]] })).value).toBe('by its own');
    expect(await runJob(new RunScript())).toMatchObject({ error: { code: 'E_JOB_TIMED_OUT' } });
    queue.assertNothingPushed();
  });

  it('pushes what the job dispatches to the fake', async () => {
    using queue = Queue.fake();

    await runJob(new MakeReport('sales'));

    queue.assertPushed(SendReport, (job) => job.name === 'sales');
    expect(seen).toEqual(['report sales']);
  });
});

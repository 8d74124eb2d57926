import { CommandKit, type Ended } from './kit/command-kit';
import { Job } from '../../src/job/job';
import { eventually } from '../support/eventually';

/** What the jobs of these tests do; set by each test. */
let handle: () => void | Promise<void>;

@Job({ queue: 'mail', tries: 5 })
class SendMail extends Job {
  handle(): void | Promise<void> {
    return handle();
  }
}

describe('work', () => {
  let kit: CommandKit;

  beforeEach(() => {
    kit = new CommandKit();
    handle = () => undefined;
  });

  afterEach(() => kit.close());

  it('prints a header with the store, the queues and the registered jobs', async () => {
    const { stdout, stderr, code } = await kit.work(
      '--queue=mail,default',
      '--timeout=5m',
      '--stop-when-empty',
      '--log=text',
    );

    expect(stderr).toMatch(
      /^Store +memory of process \d+ \(connection memory, driver memory\)\nQueues +mail, default\n\n/,
    );
    expect(stderr).toMatch(/^SendMail +mail +5 +5m +.*work\.test\.ts$/m);
    // Standard output is left to the jobs.
    expect(stdout).toBe('');
    expect(code).toBe(0);
  });

  it('does not list the classes of other queues', async () => {
    const { stderr } = await kit.work('--queue=nobody', '--stop-when-empty', '--log=text');

    expect(stderr).not.toMatch(/^SendMail +mail/m);
    expect(stderr).toMatch(/^\d+ job class(es)? more: onqueue classes$/m);
  });

  it('gives the process the title of its --name', async () => {
    await kit.work('--stop-when-empty', '--name=mails');

    expect(kit.title).toBe('onqueue mails');
  });

  it('runs jobs until the queues are empty, and logs each', async () => {
    let runs = 0;
    handle = () => void runs++;
    await kit.push('mail', SendMail.name, SendMail.name);

    const { stderr, code } = await kit.work('memory', '--queue=mail', '--stop-when-empty');

    expect(runs).toBe(2);
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string });
    expect(lines.map(({ msg }) => msg)).toEqual([
      expect.stringMatching(/^The worker starts\. Store: memory of process \d+ .*\. Queues: mail\.$/),
      expect.stringMatching(/^The memory driver lives in one process/),
      'SendMail completed',
      'SendMail completed',
      'The worker stopped: its queues are empty.',
    ]);
    expect(code).toBe(0);
  });

  it('awaits an asynchronous configuration, and closes what it opened when the jobs are done', async () => {
    const steps: string[] = [];
    kit.project.write({
      'onqueue.config.js': `module.exports = async () => {
        await undefined;
        globalThis.steps.push('opened');
        return { connections: { memory: { driver: 'memory' } }, close: () => globalThis.steps.push('closed') };
      };`,
    });
    Object.assign(globalThis, { steps });
    handle = async () => {
      await Promise.resolve();
      steps.push('ran');
    };
    await kit.push('mail', SendMail.name);

    const { code } = await kit.work('--queue=mail', '--stop-when-empty');

    expect(steps).toEqual(['opened', 'ran', 'closed']);
    expect(code).toBe(0);
  });

  it('prints only warnings with --quiet, marked with its --name', async () => {
    await kit.push('mail', SendMail.name);
    const { stderr } = await kit.work('--queue=mail', '--once', '--log=json', '--quiet', '--name=mails');

    const lines = stderr.trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'warn', msg: expect.stringContaining('memory driver') as string, worker: 'mails' },
    ]);
    expect((await kit.work('--queue=mail', '--once', '--log=text', '-q')).stderr).not.toContain('Queues');
    expect((await kit.work('-q', '-v')).code).toBe(2);
  });

  it.each(['--json', '--log=json'])('prints only JSON lines to standard error with %s', async (flag) => {
    await kit.push('mail', SendMail.name);

    const { stdout, stderr } = await kit.work('--queue=mail', '--once', flag);

    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      {
        level: 'info',
        connection: 'memory',
        driver: 'memory',
        queues: ['mail'],
        jobs: [{ name: 'SendMail', queue: 'mail', tries: 5 }],
      },
      { level: 'warn', msg: expect.stringContaining('memory driver') as string },
      { level: 'info', job: 'SendMail', outcome: 'completed' },
      { level: 'info', reason: 'once' },
    ]);
    expect(stdout).toBe('');
  });

  it('logs the start of a job with -v', async () => {
    await kit.push('mail', SendMail.name);

    const { stderr } = await kit.work('--queue=mail', '--once', '-v', '--log=text');

    expect(stderr).toMatch(/debug SendMail starts id=SendMail queue=mail attempts=1\n/);
  });

  it('shows class, stack and causes of a failed attempt with --log=text', async () => {
    handle = () => {
      throw new TypeError('no address', { cause: new RangeError('index 7') });
    };
    await kit.push('mail', SendMail.name);

    const { stderr } = await kit.work('--queue=mail', '--once', '--log=text');

    expect(stderr).toMatch(
      /warn {2}SendMail released, next try at once: .*\n {4}TypeError: no address\n {8}at .*work\.test\.ts/,
    );
    expect(stderr).toMatch(/\n {4}Caused by: RangeError: index 7\n {8}at /);
  });

  it('passes its flags to the worker', async () => {
    handle = () => {
      throw new Error('refused');
    };
    await kit.push('default', SendMail.name);

    await kit.work('--backoff=1h', '--once');

    expect(await kit.store.queues.counts('default')).toMatchObject({ delayed: 1 });
  });

  it.each(['--log=json', '--json'])(
    'writes nothing but JSON to standard error with %s, even if it cannot start',
    async (log) => {
      kit.project.write({ 'onqueue.config.js': "throw new Error('broken');" });

      const { stderr } = await kit.work(log, '--delay=5s');

      const lines = stderr.trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
        { level: 'warn', msg: expect.stringContaining('--backoff') as string },
        { level: 'error', msg: expect.stringContaining('could not be loaded: broken (E_CONFIG_FILE)') as string },
      ]);
    },
  );

  it('accepts --delay as --backoff, and says so once', async () => {
    const { stderr } = await kit.work('--delay=5s', '--stop-when-empty');

    expect(stderr.match(/--delay is the old name of --backoff/g)).toHaveLength(1);
  });

  it('ends with the code of Laravel when the process has grown too large', async () => {
    expect((await kit.work('--memory=1')).code).toBe(12);
  });

  it('refuses a connection without support for workers', async () => {
    kit.project.write({ 'onqueue.config.js': "module.exports = { connections: { sync: { driver: 'sync' } } };" });
    kit.connectors = { sync: () => Object.assign(kit.store.duplicate(), { name: 'sync', capabilities: {} }) };

    expect((await kit.work()).stderr).toContain('E_CAPABILITY');
  });

  it('does not wait for ever with --once if the store does not answer', async () => {
    const exchange = () => Promise.reject(new Error('the store is away'));
    kit.connectors = { memory: () => Object.assign(kit.store.duplicate(), { exchange }) };
    const ended = kit.run('work', '--once', '--sleep=2s');
    await eventually(() => kit.printed.includes('the store is away'));

    await kit.clock.advance('7s');

    const { code, stderr } = await ended;
    expect(stderr.match(/"level":"error"/g)).toHaveLength(2);
    expect(stderr).toContain('The store has not answered for 7 s');
    expect(stderr).not.toContain('The worker stopped');
    expect(code).toBe(1);
  });

  it.each([
    [['--once', '--processes=2'], '--once runs one job in this process'],
    [['--no-supervisor', '--processes=2'], '--no-supervisor means this one process'],
    [['--no-supervisor', '--recycle=1h'], 'use --max-time'],
    [['--health-host=0.0.0.0'], 'give that as well'],
    [['--health-port=70000'], 'Give a port'],
    [['--processes=0'], 'Give a whole number from 1'],
  ])('refuses %j, which would have no effect', async (line, message) => {
    const { code, stderr } = await kit.run('work', ...line);

    expect(stderr).toContain(message);
    expect(code).toBe(2);
  });

  describe('with a running job', () => {
    let finish: () => void;
    let ended: Promise<Ended>;

    beforeEach(async () => {
      const started = new Promise<void>((resolve) => {
        handle = () => {
          resolve();
          return new Promise((resolve) => (finish = resolve));
        };
      });
      await kit.push('default', SendMail.name);
      ended = kit.work();
      await started;
    });

    it.each(['SIGTERM', 'SIGINT', 'SIGQUIT'] as const)(
      'stops at %s once the job has finished, with 0',
      async (signal) => {
        kit.signal(signal);
        finish();

        const { code, stderr } = await ended;
        expect(code).toBe(0);
        expect(stderr).toContain('SendMail completed');
        expect(stderr).toContain(`The worker stopped: it received ${signal}.`);
        expect(kit.exits).toEqual([]);
        expect(kit.listens).toBe(false);
      },
    );

    it.each([
      ['SIGINT', 130],
      ['SIGQUIT', 131],
      ['SIGTERM', 143],
    ] as const)('ends at once at a second %s, with %d', async (signal, code) => {
      kit.signal('SIGTERM');
      await kit.clock.advance('201ms');
      kit.signal(signal);

      expect(kit.exits).toEqual([code]);
      expect(kit.printed).toContain('Running jobs run again when their leases end.');
      finish();
      await ended;
    });

    it('stops when npm, which started it, is gone, and ends at once at a later signal', async () => {
      kit.desert();
      await kit.clock.advance('201ms');
      expect(kit.printed).toContain('npm, which started this process, has gone: running jobs may finish');
      kit.signal('SIGTERM');

      expect(kit.exits).toEqual([143]);
      finish();
      expect((await ended).code).toBe(0);
    });

    it('does not count the end of npm after a signal as a second signal', async () => {
      kit.signal('SIGTERM');
      await kit.clock.advance('1s');
      kit.desert();

      expect(kit.exits).toEqual([]);
      finish();
      expect((await ended).code).toBe(0);
    });

    it('counts a signal that arrives twice, as it does through npm, as one', async () => {
      kit.signal('SIGINT');
      await kit.clock.advance('50ms');
      kit.signal('SIGINT');

      expect(kit.exits).toEqual([]);
      finish();
      expect((await ended).code).toBe(0);
    });
  });

  it('warns if no registered job goes to its queues, with the command for the right queues', async () => {
    const { stderr, code } = await kit.work('--queue=default', '--concurrency=3', '--stop-when-empty');

    expect(stderr).toContain('No registered job goes to default on its own; they go to mail');
    expect(stderr).toContain('onqueue work --no-supervisor --queue=mail --concurrency=3 --stop-when-empty');
    expect(code).toBe(0);
  });

  it('warns about jobs waiting on queues it does not work, with the command that includes them', async () => {
    await kit.push('mail', SendMail.name, SendMail.name);
    await kit.push('of-somebody-else', 'Other');

    const { stderr } = await kit.work('memory', '--queue=default', '--stop-when-empty');

    expect(stderr).toContain('Jobs are waiting on mail (2 jobs), which this worker does not work on.');
    expect(stderr).toContain(
      'If no other worker does: onqueue work memory --no-supervisor --queue=default,mail --stop-when-empty',
    );
    expect(stderr).not.toContain('of-somebody-else');
  });

  it('does not warn if it works the queues of its jobs, or the others are paused', async () => {
    await kit.push('mail', SendMail.name);
    expect((await kit.work('--queue=default,mail', '--stop-when-empty')).stderr).not.toMatch(/wait on|by itself/);

    await kit.push('mail', SendMail.name);
    await kit.store.control.pause('mail');
    expect((await kit.work('--queue=default', '--stop-when-empty')).stderr).not.toContain('Jobs wait on');
  });

  // Last, because it registers such a job in this process.
  it('warns before it runs jobs with minified names', async () => {
    kit.project.write({
      'bundle.js': "require('onqueue').Job()(class t extends require('onqueue').Job { handle() {} });",
    });

    const { stderr } = await kit.work('--require=./bundle.js', '--stop-when-empty');

    expect(stderr.match(/a minifier may have made: t\./g)).toHaveLength(1);
  });
});

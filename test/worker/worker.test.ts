import { Job } from '../../src/job/job';
import { CapabilityError } from '../../src/connections/errors';
import { processWorker, Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { until as untilOn } from '../support/application';
import { application, gate, Note, ran, setTheScene } from './scene';
import { reserveFrom } from '../support/exchange';

setTheScene();

let atOnce: number;
let most: number;

beforeEach(() => {
  atOnce = 0;
  most = 0;
});

@Job()
class Gated extends Job {
  constructor(readonly text: string) {
    super();
  }
  async handle(): Promise<void> {
    atOnce += 1;
    most = Math.max(most, atOnce);
    await gate.opened;
    atOnce -= 1;
    ran.push(this.text);
  }
}

@Job()
class UntilAborted extends Job {
  async handle(): Promise<void> {
    ran.push('started');
    await new Promise((_, reject) => {
      this.signal.addEventListener('abort', () => reject(this.signal.reason as Error));
    });
  }
}

const worker = (options: WorkerOptions = {}): Worker => new Worker(options, application.manager);
const counts = (queue = 'default'): Promise<object> => application.manager.driver().queues.counts(queue);

const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);

describe('a worker', () => {
  it('runs waiting jobs in the order of dispatch and stops when none are left', async () => {
    await application.bus.bulk(['a', 'b', 'c'].map((text) => new Note(text)));

    const reason = await worker({ stopWhenEmpty: true }).run();

    expect(reason).toBe('empty');
    expect(ran).toEqual(['a', 'b', 'c']);
    expect(await counts()).toEqual({ ready: 0, delayed: 0, reserved: 0 });
  });

  it('runs as many jobs at once as its concurrency allows', async () => {
    await application.bus.bulk(Array.from({ length: 9 }, (_, index) => new Gated(`${index}`)));
    const running = worker({ concurrency: 4, stopWhenEmpty: true }).run();

    await until(() => atOnce === 4);
    expect(await counts()).toMatchObject({ reserved: 4, ready: 5 });
    gate.open();
    await running;

    expect(most).toBe(4);
    expect(ran).toHaveLength(9);
  });

  it('empties its queues strictly in their order', async () => {
    await application.bus.dispatch(new Note('low')).onQueue('low');
    await application.bus.dispatch(new Note('high 1')).onQueue('high');
    await application.bus.dispatch(new Note('high 2')).onQueue('high');

    await worker({ queue: 'high,low', stopWhenEmpty: true }).run();

    expect(ran).toEqual(['high 1', 'high 2', 'low']);
  });

  it('draws a random order of its queues under fair, so that a flooded queue does not starve the others', async () => {
    const rolls = [0.9, 0.1, 0.9, 0.1];
    Object.assign(application.manager, { random: () => rolls.shift() ?? 0.1 });
    await application.bus.bulk([1, 2, 3].map((count) => new Note(`flood ${count}`).onQueue('flood')));
    await application.bus.dispatch(new Note('other')).onQueue('other');

    // Schedules would draw random numbers too.
    await worker({ queue: ['flood', 'other'], fair: true, stopWhenEmpty: true, schedule: false }).run();

    expect(ran[0]).toBe('other');
    expect(ran).toHaveLength(4);
  });

  it('is woken by a job that arrives while it waits', async () => {
    const running = worker();
    const ended = running.run();
    await application.clock.advance('1s');

    await application.bus.dispatch(new Note('late'));
    await until(() => ran.length === 1);
    await running.stop();

    expect(await ended).toBe('stopped');
  });

  it('runs a delayed job when it is due, and not before', async () => {
    await application.bus.dispatch(new Note('later')).delay('10m');
    const running = worker();
    void running.run();

    await application.clock.advance('599s');
    expect(ran).toEqual([]);
    await application.clock.advance('1s');
    await until(() => ran.length === 1);

    await running.stop();
  });

  describe('under drain, while another worker has a job,', () => {
    const end = (afterCrash: boolean): Promise<string> =>
      processWorker({ drain: true }, application.manager, { afterCrash }).run();

    beforeEach(async () => {
      await application.bus.dispatch(new Note('left behind'));
      await reserveFrom(application.manager.driver(), { queues: ['default'], limit: 1, lease: 30 });
      await application.clock.advance('500ms');
    });

    it('ends', async () => {
      expect(await end(false)).toBe('empty');
      expect(ran).toEqual([]);
    });

    it('waits after a crash until its lease ends', async () => {
      const ended = end(true);

      await application.clock.advance('30s');

      expect(await ended).toBe('empty');
      expect(ran).toEqual(['left behind']);
    });

    it('waits after a crash for one lease at most, even if jobs of other workers run for longer', async () => {
      await application.bus.dispatch(new Note('runs for long'));
      await reserveFrom(application.manager.driver(), { queues: ['default'], limit: 1, lease: 3600 });
      const ended = end(true);

      await application.clock.advance('40s');

      expect(await ended).toBe('empty');
      expect(ran).toEqual(['left behind']);
    });
  });

  it('renews the leases of its jobs while they run', async () => {
    await application.bus.dispatch(new Gated('long'));
    const running = worker({ stopWhenEmpty: true, timeout: 0 }).run();
    await until(() => atOnce === 1);

    await application.clock.advance('300s');
    expect(await reserveFrom(application.manager.driver(), { queues: ['default'], limit: 1, lease: 30 })).toMatchObject(
      {
        reservations: [],
      },
    );
    gate.open();
    await running;

    expect(ran).toEqual(['long']);
  });

  it('pauses a slot after each job under rest', async () => {
    await application.bus.bulk(['a', 'b'].map((text) => new Note(text)));
    const ended = worker({ rest: '10s', stopWhenEmpty: true }).run();

    await until(() => ran.length === 1);
    await application.clock.advance('9s');
    expect(ran).toEqual(['a']);
    await application.clock.advance('10s');
    await until(() => ran.length === 2);
    await application.clock.advance('10s');

    expect(await ended).toBe('empty');
  });

  it('cannot be run twice', async () => {
    const once = worker({ stopWhenEmpty: true });
    await once.run();

    await expect(once.run()).rejects.toMatchObject({ code: 'E_WORKER_ALREADY_RUN' });
  });

  it('refuses an unknown connection when it is run, not when it is created', async () => {
    const astray = worker({ connection: 'elsewhere' });

    await expect(astray.run()).rejects.toMatchObject({ code: 'E_UNKNOWN_CONNECTION' });
  });

  it('refuses a connection that hands out no jobs', async () => {
    await expect(worker({ connection: 'sync' }).run()).rejects.toThrow(CapabilityError);
  });
});

describe('the log of a worker', () => {
  it('warns of a handler that outlives its outcome, and frees its slot when the handler returns', async () => {
    await application.bus.bulk([new Gated('stubborn'), new Note('next')]);
    const running = worker({ timeout: '1s', grace: '1s' });
    void running.run();
    await until(() => atOnce === 1);

    await application.clock.advance('2s');
    expect(application.log.messages('warn')).toContainEqual(expect.stringContaining('has not returned'));
    expect(ran).toEqual([]);
    gate.open();
    await until(() => ran.includes('next'));

    await running.stop();
  });

  it('asks whether weights were meant if they are given without fair', async () => {
    await new Worker({ queue: 'high:3,default:1', stopWhenEmpty: true }, application.manager).run();
    await new Worker({ queue: 'high:3,default:1', stopWhenEmpty: true, fair: true }, application.manager).run();

    expect(application.log.messages('warn')).toEqual([
      'Without fair, the number after a colon is part of the name: this worker takes jobs from queues named high:3 and ' +
        'default:1. If you meant weights, set fair (--fair).',
    ]);
  });

  it('warns when none of the registered jobs goes to its queues, with the options for the right ones', async () => {
    await worker({ queue: ['mails', 'imports'], stopWhenEmpty: true }).run();

    expect(application.log.messages('warn')).toEqual([
      "No registered job goes to mails, imports on its own; they go to default. To work on those: new Worker({ queue: ['default'] })",
    ]);
  });

  it('describes an error and its cause in separate sentences', async () => {
    @Job()
    class Sends extends Job {
      handle(): void {
        throw new Error('no mail went out', { cause: new Error('refused') });
      }
    }
    await application.bus.dispatch(new Sends());

    await worker({ stopWhenEmpty: true }).run();

    expect(application.log.messages('error')).toEqual(['Sends failed: no mail went out. Cause: refused']);
  });

  it('contains no password, even if an error does', async () => {
    @Job()
    class Connects extends Job {
      handle(): void {
        throw new Error('no answer from redis://me:hunter2@elsewhere:6379');
      }
    }
    await application.bus.dispatch(new Connects());

    await worker({ stopWhenEmpty: true }).run();

    expect(application.log.messages('error')).toHaveLength(1);
    expect(JSON.stringify(application.log.lines)).not.toContain('hunter2');
  });
});

describe('a worker stops', () => {
  it('at once when it was stopped before it was run', async () => {
    const early = worker();
    await early.stop();

    expect(await early.run()).toBe('stopped');
  });

  it('when maxJobs jobs have run, without having reserved more', async () => {
    await application.bus.bulk(['a', 'b', 'c'].map((text) => new Note(text)));

    const reason = await worker({ maxJobs: 2, concurrency: 10 }).run();

    expect(reason).toBe('max-jobs');
    expect(ran).toEqual(['a', 'b']);
    expect(await counts()).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });

  it('after one job under once', async () => {
    await application.bus.bulk(['a', 'b'].map((text) => new Note(text)));

    expect(await worker({ once: true }).run()).toBe('once');
    expect(ran).toEqual(['a']);
  });

  it('under once if no job came within sleep', async () => {
    const ended = worker({ once: true, sleep: '3s' }).run();

    await application.clock.advance('3s');

    expect(await ended).toBe('empty');
  });

  it('when maxTime has passed, even if it is idle', async () => {
    const ended = worker({ maxTime: '1m' }).run();

    await application.clock.advance('1m');

    expect(await ended).toBe('max-time');
  });

  it('when maxTime has passed, even if the store does not answer', async () => {
    jest.spyOn(application.manager.driver(), 'exchange').mockReturnValue(new Promise(() => undefined));
    const ended = worker({ maxTime: '1m' }).run();

    await application.clock.advance('1m');
    await application.clock.advance('6s');

    expect(await ended).toBe('max-time');
  });

  it('when the process uses more memory than allowed', async () => {
    expect(await worker({ memory: 1 }).run()).toBe('memory');
  });

  it('letting running jobs finish within the grace', async () => {
    await application.bus.dispatch(new Gated('finishes'));
    const running = worker({ grace: '10s' });
    void running.run();
    await until(() => atOnce === 1);

    const stopped = running.stop();
    await application.clock.advance('9s');
    gate.open();
    await stopped;

    expect(ran).toEqual(['finishes']);
    expect(await counts()).toEqual({ ready: 0, delayed: 0, reserved: 0 });
  });

  it('aborting jobs that outlive the grace and giving them back without losing a try', async () => {
    await application.bus.dispatch(new UntilAborted());
    const running = worker({ grace: '10s' });
    void running.run();
    await until(() => ran.length === 1);

    const stopped = running.stop();
    await application.clock.advance('11s');
    await stopped;

    const [job] = await application.manager.driver().queues.peek!('default', 'ready', 1);
    expect(JSON.parse(String(job?.payload))).toMatchObject({ attempts: 0, releases: 1 });
  });

  it('giving back a job that ignores its signal, whose later result is refused', async () => {
    await application.bus.dispatch(new Gated('stubborn'));
    const running = worker({ grace: '1s', timeout: 0 });
    void running.run();
    await until(() => atOnce === 1);

    const stopped = running.stop();
    await application.clock.advance('2s');
    await stopped;
    gate.open();
    await until(() => ran.length === 1);

    expect(await counts()).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    expect(application.log.messages('warn')).toEqual([
      'Gated goes back to its queue at no cost in tries, because the worker stops: ' +
        'its handle() has not returned within the grace. Let it stop when this.signal aborts.',
    ]);
  });

  it('with its manager', async () => {
    const ended = worker().run();
    await application.clock.advance('1s');

    await application.manager.close();

    expect(await ended).toBe('stopped');
  });

  it('with its manager, and no other worker can start while that closes', async () => {
    const again = worker()
      .run()
      .then(() => worker().run())
      .catch((error: unknown) => error);
    await application.clock.advance('1s');

    await application.manager.close();

    expect(await again).toMatchObject({ code: 'E_MANAGER_CLOSED' });
  });
});

it('a worker with stopWhenEmpty ends even if a handler never returns', async () => {
  await application.bus.dispatch(new Gated('never'));
  const ended = worker({ stopWhenEmpty: true, timeout: '1s', grace: '1s' }).run();
  await until(() => atOnce === 1);

  await application.clock.advance('2s');

  expect(await ended).toBe('empty');
});

import { Job } from '../../src/job/job';
import { JobCancelledError } from '../../src/worker/errors';
import type { WorkerHealth } from '../../src/worker/health';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { elapse, until as untilOn } from '../support/application';
import { application, gate, Note, ran, setTheScene } from './scene';
import { reserveFrom } from '../support/exchange';

let reasons: unknown[];
let workers: Worker[];

beforeEach(() => {
  reasons = [];
  workers = [];
});

afterEach(async () => {
  gate.open();
  await Promise.all(workers.map((worker) => worker.stop()));
});

// Comes last, so that its application is closed after the workers have stopped.
setTheScene();

@Job()
class Gated extends Job {
  async handle(): Promise<void> {
    ran.push('started');
    await gate.opened;
    ran.push('done');
  }
}

@Job()
class UntilAborted extends Job {
  async handle(): Promise<void> {
    ran.push('started');
    await new Promise((_, reject) => {
      this.signal.addEventListener('abort', () => {
        reasons.push(this.signal.reason);
        reject(this.signal.reason as Error);
      });
    });
  }
}

const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);
const control = () => application.manager.driver().control!;
const counts = (): Promise<object> => application.manager.driver().queues.counts('default');

const start = (options: WorkerOptions = {}) => {
  const worker = new Worker(options, application.manager);
  workers.push(worker);
  return { worker, ended: worker.run() };
};

const health = (worker: Worker): WorkerHealth => worker.health();

describe('a cancelled job', () => {
  it('that runs is aborted by the next renewal and ends as cancelled', async () => {
    const heard: string[] = [];
    application.manager.hooks.on('cancelled', ({ job }) => void heard.push(job.name));
    const id = await application.bus.dispatch(new UntilAborted());
    const { worker } = start();
    await until(() => ran.length === 1);

    expect(await control().cancel(id)).toBe('signalled');
    await elapse(application.clock, 15);
    await until(() => health(worker).outcomes.cancelled === 1);

    expect(reasons).toEqual([expect.any(JobCancelledError)]);
    expect(heard).toEqual(['UntilAborted']);
    expect(await counts()).toEqual({ ready: 0, delayed: 0, reserved: 0 });
    expect(application.log.messages('info')).toContain('UntilAborted was cancelled');
  });

  it('that finishes its work anyway is completed', async () => {
    const id = await application.bus.dispatch(new Gated());
    const { worker } = start();
    await until(() => ran.length === 1);
    await control().cancel(id);
    await elapse(application.clock, 15);
    gate.open();
    await until(() => ran.length === 2);
    await until(() => health(worker).outcomes.completed === 1);

    expect(health(worker).outcomes.cancelled).toBe(0);
  });

  it('whose worker died is recorded as cancelled by the next worker without running', async () => {
    const id = await application.bus.dispatch(new Note('never'));
    await reserveFrom(application.manager.driver(), { queues: ['default'], limit: 1, lease: 30 });
    expect(await control().cancel(id)).toBe('signalled');
    await application.clock.advance('31s');
    const { worker } = start();
    await until(() => health(worker).outcomes.cancelled === 1);

    expect(ran).toEqual([]);
    expect(await counts()).toEqual({ ready: 0, delayed: 0, reserved: 0 });
  });
});

describe('a paused queue', () => {
  it('hands out no jobs until it is resumed, while running jobs go on', async () => {
    await application.bus.dispatch(new Gated());
    const { worker } = start({ concurrency: 2 });
    await until(() => ran.length === 1);
    await control().pause('default');
    await application.bus.dispatch(new Note('later'));
    await application.clock.advance('5s');
    gate.open();
    await until(() => ran.length === 2);
    await application.clock.advance('5s');

    expect(ran).toEqual(['started', 'done']);
    expect(health(worker).paused).toEqual(['default']);
    await control().resume('default');
    await until(() => ran.includes('later'));
    expect(health(worker).paused).toEqual([]);
    expect(application.log.messages('warn')).toEqual(["Queue 'default' is paused: nothing is taken from it."]);
    expect(application.log.messages('info')).toContain("Queue 'default' goes on.");
  });

  it('counts as empty under stopWhenEmpty even while jobs of other queues run elsewhere', async () => {
    const connection = application.manager.driver();
    await application.bus.dispatch(new Note('paused'));
    await application.bus.dispatch(new Note('elsewhere')).onQueue('other');
    await reserveFrom(connection, { queues: ['other'], limit: 1, lease: 1000 });
    await connection.control!.pause('default');

    expect(await start({ queue: 'default,other', stopWhenEmpty: true }).ended).toBe('empty');
  });

  it('counts as empty under stopWhenEmpty', async () => {
    await application.bus.dispatch(new Note('waits'));
    await control().pause('default');
    const { manager } = application;
    expect([await manager.connection().isPaused(), await manager.connection().isPaused('other')]).toEqual([
      true,
      false,
    ]);

    expect(await start({ stopWhenEmpty: true }).ended).toBe('empty');
    expect(ran).toEqual([]);
  });
});

describe('workers that are told to restart', () => {
  it('finish their running jobs, take no more, and end with that reason', async () => {
    await application.bus.dispatch(new Gated());
    const { ended } = start();
    await until(() => ran.length === 1);
    await control().restart();
    await application.bus.dispatch(new Note('for the next'));
    gate.open();

    expect(await ended).toBe('restart');
    expect(ran).toEqual(['started', 'done']);
    expect(await counts()).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });

  it('end even when they are idle', async () => {
    const { worker, ended } = start();
    await until(() => health(worker).ready);
    await control().restart();
    await application.clock.advance('3s');

    expect(await ended).toBe('restart');
  });

  it('ignore an order from before they started', async () => {
    await control().restart();
    await application.bus.dispatch(new Note('a'));
    const { worker } = start();
    await until(() => ran.length === 1);
    await application.clock.advance('5s');

    expect(health(worker).state).toBe('running');
  });
});

describe('an outcome that the store refuses', () => {
  it('is passed to the lost hooks and counted, and changes nothing else', async () => {
    const heard: string[] = [];
    application.manager.hooks.on('lost', ({ job, outcome }) => void heard.push(`${job.name} ${outcome}`));
    await application.bus.dispatch(new Gated());
    const { worker } = start();
    await until(() => ran.length === 1);
    await application.manager.driver().queues.clear!('default');
    gate.open();
    await until(() => health(worker).outcomes.lost === 1);

    expect(heard).toEqual(['Gated completed']);
    expect(health(worker).outcomes.completed).toBe(0);
  });
});

import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { elapse as elapseOn, Gate, until as untilOn } from '../support/application';
import { type Fault, faultyApplication, type FaultyApplication, type Faults } from './faulty-connection';

let application: FaultyApplication;
let faults: Faults;
let connection: FaultyApplication['connection'];
let ran: string[];
let aborted: unknown[];
let gate: Gate;

/** Ignores its signal and waits for the gate. */
@Job({ timeout: 0 })
class Deaf extends Job {
  async handle(): Promise<void> {
    ran.push('started');
    await gate.opened;
    ran.push('done');
  }
}

@Job({ timeout: 0 })
class Hearing extends Job {
  async handle(): Promise<void> {
    ran.push('started');
    this.signal.addEventListener('abort', () => aborted.push(this.signal.reason));
    await gate.opened;
    throw new Error('a defect that came to light late');
  }
}

@Job({ timeout: '60s', tries: 3 })
class Stubborn extends Job {
  async handle(): Promise<void> {
    ran.push('started');
    await gate.opened;
  }
}

beforeEach(() => {
  ran = [];
  aborted = [];
  gate = new Gate();
  application = faultyApplication();
  ({ faults, connection } = application);
});

afterEach(async () => {
  gate.open();
  const closed = application.manager.close();
  await elapse(60);
  await closed;
});

const away: Fault = { kind: 'reject', error: new Error('the store is away') };
@Job({ tries: 2 })
class Twice extends Job {
  handle(): void {
    throw new Error('no');
  }
}

const worker = (options: WorkerOptions = {}): Worker => new Worker(options, application.manager);

const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);
const elapse = (seconds: number): Promise<void> => elapseOn(application.clock, seconds);

it('a run that is aborted before its handler is called does not call it', async () => {
  await application.bus.dispatch(new Deaf());
  const hook = new Gate();
  let inHook = false;
  application.manager.hooks.on('before', () => {
    inHook = true;
    return hook.opened;
  });
  const running = worker({ grace: '1s' });
  void running.run();
  await until(() => inHook);

  const stopped = running.stop();
  await application.clock.advance('1200ms');
  hook.open();
  await elapse(3);
  await stopped;

  expect(ran).toEqual([]);
  expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
});

it.each([
  ['before the worker has given up', 3],
  ['after it has ended', 10],
])('jobs of a reserve that is answered after the stop, %s, go back', async (_when, seconds) => {
  await application.bus.dispatch(new Deaf());
  const hold = new Gate();
  faults.next('reserve', { kind: 'hold', until: hold.opened });
  const running = worker({ grace: '1s' });
  const ended = running.run();
  await application.clock.advance(0);
  void running.stop();

  await elapse(seconds);
  hold.open();
  await elapse(10);
  await ended;

  expect(ran).toEqual([]);
  expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
});

it('running jobs are aborted at the end of the grace even while a call to the store hangs', async () => {
  await application.bus.dispatch(new Hearing());
  const running = worker({ grace: '1s', concurrency: 2 });
  const ended = running.run();
  await until(() => ran.length === 1);
  const hold = new Gate();
  faults.next('reserve', { kind: 'hold', until: hold.opened });
  await elapse(3);

  void running.stop();
  await elapse(10);
  await ended;

  expect(aborted).toHaveLength(1);
  hold.open();
});

it('the outcome of a timed-out handler that never returns is recorded during the stop', async () => {
  await application.bus.dispatch(new Stubborn());
  const running = worker({ grace: '30s' });
  const ended = running.run();
  await until(() => ran.length === 1);
  await elapse(40);

  void running.stop();
  await elapse(40);
  await ended;

  expect(application.log.messages('error')).toEqual([]);
  expect(application.log.messages('warn')).toEqual([expect.stringContaining('ran longer than its timeout')]);
  expect(await connection.queues.counts('default')).toMatchObject({ reserved: 0 });
});

it('an error that a handler throws after it was aborted is logged', async () => {
  await application.bus.dispatch(new Hearing());
  const running = worker({ grace: '1s' });
  void running.run();
  await until(() => ran.length === 1);

  const stopped = running.stop();
  await application.clock.advance('1200ms');
  gate.open();
  await elapse(2);
  await stopped;

  expect(application.log.messages('warn')).toEqual([
    'Hearing goes back to its queue at no cost in tries, because the worker stops: ' +
      'it was not done within the grace. Cause: a defect that came to light late',
  ]);
});

it('a stopping hook that hangs does not keep the worker from ending', async () => {
  application.manager.hooks.on('stopping', () => new Promise(() => undefined));
  const running = worker({ grace: '1s' });
  const ended = running.run();
  await elapse(1);

  void running.stop();
  await elapse(10);

  expect(await ended).toBe('stopped');
});

it('a job whose lease ended in an outage is not started a second time by its own worker', async () => {
  await application.bus.dispatch(new Deaf());
  const running = worker({ concurrency: 2 });
  void running.run();
  await until(() => ran.length === 1);
  faults.next('renew', ...Array.from({ length: 8 }, () => away));
  faults.next('reserve', ...Array.from({ length: 12 }, () => away));

  await elapse(70);
  gate.open();
  await elapse(10);
  void running.stop();
  await elapse(2);

  expect(ran).toEqual(['started', 'done']);
  expect(await connection.queues.counts('default')).toEqual({ ready: 0, delayed: 0, reserved: 0 });
});

it.each(['before', 'exceptionOccurred'] as const)(
  'a job whose hook %s hangs at a stop goes back without losing a try',
  async (hook) => {
    const hung = new Gate();
    application.manager.hooks.on(hook, () => {
      ran.push(hook);
      return hung.opened;
    });
    await application.bus.dispatch(new Twice());
    const running = worker({ grace: '1s' });
    const ended = running.run();
    await until(() => ran.includes(hook));

    void running.stop();
    await elapse(10);
    await ended;

    expect(application.log.messages('error')).toEqual([]);
    expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
    hung.open();
  },
);

it('a worker with drain can be stopped even if the store never answers its counts', async () => {
  const hold = new Gate();
  faults.next('counts', { kind: 'hold', until: hold.opened });
  await application.bus.dispatch(new Hearing()).delay('1h');
  const running = worker({ drain: true });
  const ended = running.run();
  await until(() => faults.calls.includes('counts'));

  void running.stop();
  await elapse(10);

  expect(await ended).toBe('stopped');
  hold.open();
});

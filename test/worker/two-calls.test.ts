import { Job } from '../../src/job/job';
import { QueueUnavailableError } from '../../src/connections/errors';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { elapse, Gate, until as untilOn } from '../support/application';
import { faultyApplication, type FaultyApplication } from '../faults/faulty-connection';

let application: FaultyApplication;
let gate: Gate;
let held: Gate;
let ran: number[];
let running: Worker[];

@Job()
class Waits extends Job {
  constructor(readonly number: number) {
    super();
  }
  async handle(): Promise<void> {
    ran.push(this.number);
    await gate.opened;
  }
}

beforeEach(() => {
  application = faultyApplication();
  Object.assign(application.connection, { atOnce: { calls: 2 } });
  gate = new Gate();
  held = new Gate();
  ran = [];
  running = [];
});

afterEach(async () => {
  gate.open();
  held.open();
  for (const worker of running) await worker.stop();
  await application.manager.close();
});

const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);
const fill = (count: number): Promise<unknown> =>
  application.bus.bulk(Array.from({ length: count }, (_, number) => new Waits(number)));
const counts = (): Promise<object> => application.connection.queues.counts('default');

/** Starts a worker whose first reserve is executed at once but answered only when `held` opens. */
function work(options: WorkerOptions): { readonly worker: Worker; readonly ended: Promise<string> } {
  application.faults.next('reserve', { kind: 'hold', until: held.opened });
  const worker = new Worker(options, application.manager);
  running.push(worker);
  return { worker, ended: worker.run() };
}

describe('a worker on a connection that carries two calls at once', () => {
  it('fills one half of its slots while the call for the other half is pending, and no slot twice', async () => {
    await fill(60);
    work({ concurrency: 24 });
    await until(() => ran.length === 12);
    expect(await counts()).toMatchObject({ reserved: 12 });

    held.open();
    await until(() => ran.length === 24);
    expect(await counts()).toMatchObject({ reserved: 24, ready: 36 });
  });

  it('makes one call at a time if it has few slots', async () => {
    await fill(60);
    work({ concurrency: 7 });
    await application.clock.advance('2s');
    expect(ran).toEqual([]);

    held.open();
    await until(() => ran.length === 7);
  });

  it('makes one call at a time while it is idle', async () => {
    work({ concurrency: 24 });
    held.open();
    await elapse(application.clock, 1);
    const before = application.faults.calls.length;
    await elapse(application.clock, 6);

    expect(application.faults.calls.slice(before)).toEqual(['reserve', 'reserve', 'reserve']);
  });

  it('reserves no more jobs than maxJobs allows', async () => {
    await fill(60);
    const { ended } = work({ concurrency: 24, maxJobs: 18 });
    held.open();
    gate.open();

    expect(await ended).toBe('max-jobs');
    expect(ran).toHaveLength(18);
    expect(await counts()).toEqual({ ready: 42, delayed: 0, reserved: 0 });
  });

  it('gives back jobs that a call returns after the stop, and ends when both calls are answered', async () => {
    await fill(60);
    const { worker, ended } = work({ concurrency: 24 });
    await until(() => ran.length === 12);
    const stopped = worker.stop();
    gate.open();
    held.open();
    await stopped;

    expect(await ended).toBe('stopped');
    expect(ran).toHaveLength(12);
    expect(await counts()).toEqual({ ready: 48, delayed: 0, reserved: 0 });
  });

  it('tries again to give them back if the store was briefly away', async () => {
    await fill(60);
    const { worker } = work({ concurrency: 24 });
    await until(() => ran.length === 12);
    const away = { connection: 'memory', store: 'memory', address: 'here', consequence: 'nothing was written' };
    const error = new QueueUnavailableError(away);
    application.faults.next('settle', { kind: 'reject', error });
    const stopped = worker.stop();
    held.open();
    await until(() => application.faults.calls.includes('settle'));
    gate.open();
    await application.clock.advance('1s');
    await stopped;

    expect(await counts()).toEqual({ ready: 48, delayed: 0, reserved: 0 });
  });

  it('does not end as empty while a pending call may return jobs', async () => {
    await fill(16);
    const { ended } = work({ concurrency: 24, stopWhenEmpty: true });
    gate.open();
    await until(() => ran.length >= 12);
    await application.clock.advance('5s');
    held.open();

    expect(await ended).toBe('empty');
    expect(ran).toHaveLength(16);
  });

  it('settles the outcomes of a failed call with the next one', async () => {
    await fill(48);
    gate.open();
    application.faults.next('exchange', { kind: 'reject', error: new Error('away') });
    const { ended } = work({ concurrency: 24, stopWhenEmpty: true });
    held.open();
    for (let second = 0; second < 5; second += 1) await application.clock.advance('1s');

    expect(await ended).toBe('empty');
    expect(ran.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 48 }, (_, number) => number));
    expect(await counts()).toEqual({ ready: 0, delayed: 0, reserved: 0 });
  });
});

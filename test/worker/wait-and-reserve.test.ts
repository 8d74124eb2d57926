import type { MemoryConfig } from '../../src/connections/memory/driver';
import type { Connector } from '../../src/connections/driver';
import { connectMemory } from '../../src/connections/memory/connection';
import type { Connection, Wanted } from '../../src/connections/contract';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { Gate, testApplication, until as untilOn, type TestApplication } from '../support/application';

let application: TestApplication;
let connection: Connection;
let gate: Gate;
let ran: string[];
let workers: Worker[];
/** The requests that waits made, their durations in seconds, and how many of them are pending. */
let requests: Wanted[];
let spans: number[];
let open: number;
let failure: Error | undefined;
/** Opens when the store takes outcomes. */
let settles: Gate;

@Job()
class Waits extends Job {
  constructor(readonly text: string) {
    super();
  }
  async handle(): Promise<void> {
    ran.push(this.text);
    await gate.opened;
  }
}

beforeEach(() => {
  application = testApplication();
  [gate, ran, workers, requests, spans, open, failure] = [new Gate(), [], [], [], [], 0, undefined];
  settles = new Gate();
  settles.open();
  application.manager.addConnector('memory', connector);
});

const connector: Connector = (config, context) => {
  connection = connectMemory(config as MemoryConfig, context);
  const whole = connection.exchange.bind(connection);
  const exchange: Connection['exchange'] = async (settlements, wanted) => {
    if (settlements.length > 0) await settles.opened;
    if (wanted?.within === undefined || wanted.limit === 0) return whole(settlements, wanted);
    const { within, signal: _, lookEvery: __, ...request } = wanted;
    requests.push(request);
    spans.push(within);
    open += 1;
    await whole(settlements, { ...wanted, limit: 0 });
    open -= 1;
    if (failure !== undefined) throw failure;
    return whole([], request);
  };
  return Object.assign(connection, { exchange });
};

afterEach(async () => {
  gate.open();
  for (const worker of workers) await worker.stop();
  await application.manager.close();
});

const until = (condition: () => boolean): Promise<void> => untilOn(application.clock, condition);

function work(options: WorkerOptions = {}): { readonly worker: Worker; readonly ended: Promise<string> } {
  const worker = new Worker(options, application.manager);
  workers.push(worker);
  return { worker, ended: worker.run() };
}

describe('an idle worker whose store can end a wait with a reservation', () => {
  it('lets a wait reserve one job, and reserves the others itself', async () => {
    work({ concurrency: 3 });
    await until(() => open === 1);
    for (const text of ['a', 'b', 'c', 'd']) await application.bus.dispatch(new Waits(text));
    await until(() => ran.length === 3);

    expect(requests).toEqual([{ queues: ['default'], limit: 1, lease: 30 }]);
    expect(ran).toEqual(['a', 'b', 'c']);
  });

  it('does not let a wait reserve while a job runs, because it may block the event loop', async () => {
    work({ concurrency: 2 });
    await until(() => open === 1);
    await application.bus.dispatch(new Waits('a'));
    await until(() => ran.length === 1);
    await application.clock.advance('5s');
    expect(requests.slice(1)).toEqual([]);

    await application.bus.dispatch(new Waits('b'));
    await until(() => ran.length === 2);
    gate.open();
    await until(() => open === 1);
  });

  it('gives back a job that a wait brings after the stop, of which the hook released hears', async () => {
    const back: string[] = [];
    application.manager.hooks.on('released', ({ job }) => void back.push(job.name));
    const { worker, ended } = work();
    await until(() => open === 1);
    const stopped = worker.stop();
    await application.bus.dispatch(new Waits('a'));
    await stopped;

    expect(await ended).toBe('stopped');
    expect(ran).toEqual([]);
    expect(back).toEqual([Waits.name]);
    expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });

  it('does not end before such a job is back', async () => {
    settles = new Gate();
    const { worker, ended } = work();
    await until(() => open === 1);
    void worker.stop();
    await application.bus.dispatch(new Waits('a'));
    await until(() => open === 0);
    await application.clock.advance(0);
    expect(worker.health().state).toBe('stopping');

    settles.open();
    expect(await ended).toBe('stopped');
    expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });

  it('does not let a wait reserve beside another worker of the process, whose jobs may block the event loop', async () => {
    work({ queue: 'other' });
    await until(() => open === 1);
    work();
    await application.clock.advance('5s');
    await application.bus.dispatch(new Waits('a'));
    await until(() => ran.length === 1);

    expect(open).toBe(0);
    expect(requests.slice(1)).toEqual([]);
  });

  it('gets a delayed job when it becomes due', async () => {
    await application.bus.dispatch(new Waits('a')).delay('700ms');
    work();
    await until(() => open === 1);
    await application.clock.advance('700ms');
    await until(() => ran.length === 1);

    expect(await connection.queues.counts('default')).toMatchObject({ reserved: 1 });
  });

  it('takes no more jobs than maxJobs allows', async () => {
    const { ended } = work({ concurrency: 2, maxJobs: 1 });
    await until(() => open === 1);
    for (const text of ['a', 'b']) await application.bus.dispatch(new Waits(text));
    gate.open();

    expect(await ended).toBe('max-jobs');
    expect(ran).toEqual(['a']);
    expect(await connection.queues.counts('default')).toEqual({ ready: 1, delayed: 0, reserved: 0 });
  });

  it('does not let a wait reserve if there are looping hooks, which must be called before each reserve', async () => {
    let asked = 0;
    application.manager.hooks.on('looping', () => void (asked += 1));
    work();
    await until(() => asked === 1);
    await application.bus.dispatch(new Waits('a'));
    await until(() => ran.length === 1);

    expect(requests).toEqual([]);
    expect(asked).toBe(2);
  });

  it('pauses after an error of the store and goes on', async () => {
    failure = new Error('not now');
    work();
    await until(() => open === 1);
    await application.bus.dispatch(new Waits('a'));
    await until(() => application.log.messages('error').length === 1);
    failure = undefined;
    await application.clock.advance('1s');
    await until(() => ran.length === 1);

    expect(application.log.messages('error')).toEqual([expect.stringContaining('not now')]);
  });

  it('waits for a third of a lease at most, because the lease counts from the start of the wait', async () => {
    application = testApplication({ connections: { memory: { driver: 'memory', retryAfter: 3 } } });
    application.manager.addConnector('memory', connector);
    work();
    await until(() => open === 1);
    expect(spans).toEqual([1]);
  });

  it('waits for as long as `sleep`, because a store that can only be looked at costs a query each time', async () => {
    work({ sleep: '5s' });
    await until(() => open === 1);
    expect(spans).toEqual([5]);
  });
});

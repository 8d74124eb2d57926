import { hostname } from 'node:os';
import { Job } from '../../src/job/job';
import { replaceDefaultManager } from '../../src/application/default-manager';
import { Queue } from '../../src/application/queue';
import { listWorkers, putWorker } from '../../src/operations/worker-record';
import { VERSION } from '../../src/version';
import { Worker } from '../../src/worker/worker';
import type { WorkerOptions } from '../../src/worker/worker-options';
import { Gate } from '../support/application';
import { watchedApplication } from '../support/watched-application';

let run: () => Promise<void> = async () => undefined;

@Job()
class Render extends Job {
  async handle(): Promise<void> {
    await run();
  }
}

function given(configuration: object = {}) {
  const app = watchedApplication({
    default: 'main',
    connections: { main: { driver: 'memory' }, other: { driver: 'memory' }, nowhere: { driver: 'null' } },
    ...configuration,
  });
  replaceDefaultManager(app.manager);
  run = async () => undefined;
  const main = app.manager.connection('main');
  const store = app.watched('main');
  const put = jest.spyOn(store.records, 'put');
  const works = (options: WorkerOptions = {}) => {
    const worker = new Worker(options, app.manager);
    const working = worker.run();
    return async () => {
      await worker.stop();
      await working;
    };
  };
  return { ...app, main, store, put, works };
}

afterEach(async () => {
  await Queue.close();
});

describe('the name of a worker', () => {
  afterEach(() => delete process.env['ONQUEUE_WORKER_NAME']);

  const nameOf = async (options: WorkerOptions): Promise<string | undefined> => {
    const { works, clock } = given();
    const stop = works(options);
    await clock.advance('1s');
    const [worker] = await Queue.workers();
    await stop();
    return worker?.name;
  };

  it('is the one that it was given', async () => {
    process.env['ONQUEUE_WORKER_NAME'] = 'of the machine';

    expect(await nameOf({ name: 'mails' })).toBe('mails');
  });

  it("is the environment's if it was given none", async () => {
    process.env['ONQUEUE_WORKER_NAME'] = 'of the machine';

    expect(await nameOf({})).toBe('of the machine');
  });

  it('has a random part otherwise, because containers may share a host and a process id', async () => {
    const name = await nameOf({});

    expect(name?.startsWith(`${hostname()}-`)).toBe(true);
    expect(name?.slice(hostname().length)).toMatch(/^-[\da-z]{5}$/);
  });

  it('is its host in the record of an earlier version', async () => {
    const { main, store, works, clock } = given();
    const stop = works();
    await clock.advance('1s');
    const [record] = await store.records.list('workers', { limit: 1 });
    const { id, value } = record!;
    const { name: _name, ...earlier } = JSON.parse(value) as { name: string };
    await store.records.put([{ kind: 'workers', id, value: JSON.stringify(earlier) }], 60);

    expect(await main.workers()).toMatchObject([{ name: hostname() }]);
    await stop();
  });

  it.each(['', ' '.repeat(101), 'a\nb'])('cannot be %j', (name) => {
    expect(() => new Worker({ name })).toThrow('give a name of 1 to 100 characters');
  });
});

describe('the record of a worker', () => {
  it('describes the worker, its queues and its running jobs, but contains no data of jobs', async () => {
    const { main, works, clock, put } = given();
    const gate = new Gate();
    run = () => gate.opened;
    const id = await main.push(new Render(), 'films');
    await main.pause('mails');
    const since = clock.now();

    const stop = works({ queue: 'films,mails', concurrency: 3 });
    await clock.advance('1s');

    const [worker, ...others] = await Queue.workers();
    expect(others).toEqual([]);
    expect(worker).toMatchObject({
      host: hostname(),
      pid: process.pid,
      version: VERSION,
      connection: 'main',
      queues: ['films', 'mails'],
      concurrency: 3,
      state: 'running',
      since: new Date(since),
      silentFor: 0,
      paused: ['mails'],
      outcomes: { completed: 0, released: 0, failed: 0, cancelled: 0, lost: 0 },
      busy: 1,
      running: [{ id, name: 'Render', queue: 'films', attempt: 1, since: new Date(since) }],
    });
    expect(JSON.stringify(put.mock.calls)).not.toContain('payload');
    gate.open();
    await stop();
  });

  it('is rewritten every five seconds with one call and no other', async () => {
    const { works, clock, put, store, main } = given();
    const asked = jest.spyOn(store.control, 'paused');
    const stop = works();
    await clock.advance('1s');
    await main.push(new Render());

    for (let second = 0; second < 60; second += 1) await clock.advance('1s');

    const own = put.mock.calls.filter(([[record]]) => record!.kind === 'workers');
    expect(own.map(([records, keep]) => [records.length, keep])).toEqual(Array.from({ length: 13 }, () => [1, 60]));
    expect(asked).not.toHaveBeenCalled();
    expect(await Queue.workers()).toMatchObject([{ outcomes: { completed: 1 }, running: [], busy: 0 }]);
    await stop();
  });

  it('is removed when the worker ends, and not written by a worker that ends at once', async () => {
    const { manager, works, clock, put } = given();
    const stop = works();
    await clock.advance('1s');
    await stop();

    expect(await Queue.workers()).toEqual([]);
    put.mockClear();
    await new Worker({ stopWhenEmpty: true }, manager).run();
    expect(put).not.toHaveBeenCalled();
  });

  it('does not reappear when a slow write finishes after the end of the worker', async () => {
    const { works, clock, put, store } = given();
    const gate = new Gate();
    const stop = works();
    await clock.advance('1s');
    put.mockImplementationOnce(async (...parameters) => {
      await gate.opened;
      await Object.getPrototypeOf(store.records).put.apply(store.records, parameters);
    });
    await clock.advance('5s');

    const stopped = stop();
    await clock.advance('1s');
    gate.open();
    await stopped;

    await clock.advance('10s');
    expect(await Queue.workers()).toEqual([]);
  });

  it('shows how long a worker has been silent, and expires after a minute', async () => {
    const { works, clock, put } = given();
    const stop = works();
    await clock.advance('1s');
    put.mockRejectedValue(new Error('no room'));

    await clock.advance('42s');
    expect(await Queue.workers()).toMatchObject([{ silentFor: 42 }]);
    await clock.advance('18s');
    expect(await Queue.workers()).toEqual([]);
    await stop();
  });

  it('that cannot be written does not hold up the worker, and is logged once per outage', async () => {
    const { works, clock, put, log, main, store } = given();
    const stop = works();
    put.mockRejectedValue(new Error('no room'));
    await main.push(new Render());
    await clock.advance('11s');
    const told = () => log.texts.filter((text) => text.includes('worker') && text.includes('no room'));

    expect(told()).toEqual(['warn: The worker goes on, but is not seen by others (onqueue workers): no room']);
    expect(await main.size()).toBe(0);

    put.mockRestore();
    await clock.advance('5s');
    expect(await Queue.workers()).toHaveLength(1);
    jest.spyOn(store.records, 'put').mockRejectedValueOnce(new Error('no room'));
    await clock.advance('5s');
    expect(told()).toHaveLength(2);
    await stop();
  });

  it('delays the end of a worker by two seconds at most', async () => {
    const { works, clock, put } = given();
    const stop = works();
    await clock.advance('1s');
    put.mockReturnValue(new Promise(() => undefined));

    const stopped = stop();
    await clock.advance('2s');

    await expect(stopped).resolves.toBeUndefined();
  });

  it('is not kept if metrics are switched off', async () => {
    const { works, clock, put } = given({ metrics: false });
    const stop = works();
    await clock.advance('10s');
    await stop();

    expect(put).not.toHaveBeenCalled();
    expect(await Queue.workers()).toEqual([]);
  });

  it('is kept on the connection that the configuration names, and nowhere if that cannot keep records', async () => {
    const { manager, works, clock } = given({ operations: 'other' });
    const stop = works();
    await clock.advance('1s');

    expect(await manager.driver('other').records!.list('workers', { limit: 10 })).toHaveLength(1);
    expect(await manager.driver('main').records!.list('workers', { limit: 10 })).toEqual([]);
    expect(await Queue.workers()).toMatchObject([{ connection: 'main' }]);
    await stop();
    const alone = given({ operations: 'nowhere' });
    await expect(Queue.workers()).rejects.toMatchObject({ code: 'E_NO_RECORDS' });
    const end = alone.works();
    await alone.clock.advance('1s');
    await end();
  });
});

describe('the records of many workers', () => {
  const report = (id: string, more: object = {}) => ({
    ...{ id, host: 'web', pid: 1, version: '1.0.0', connection: 'main', queues: ['mail'], concurrency: 1 },
    ...{ state: 'running' as const, at: 0, since: 0, lag: 0, paused: [], busy: 0, running: [] },
    outcomes: { completed: 0, released: 0, failed: 0, cancelled: 0, lost: 0 },
    ...more,
  });

  it('are all listed once, the oldest first', async () => {
    const { store, manager, clock } = given();
    for (let count = 0; count < 250; count += 1)
      await putWorker(store.records, report(`w${count}`, { at: clock.now(), since: 1000 - count }));

    const workers = await listWorkers(store, manager);

    expect(workers.map(({ id }) => id)).toEqual(Array.from({ length: 250 }, (_, count) => `w${249 - count}`));
  });

  it('are all listed even if one is written while the pages are read', async () => {
    const { store, manager, clock } = given();
    for (let count = 0; count < 101; count += 1)
      await putWorker(store.records, report(`w${count}`, { at: clock.now() }));
    const list = store.records.list.bind(store.records);
    jest.spyOn(store.records, 'list').mockImplementationOnce(async (kind, page) => {
      const first = await list(kind, page);
      await clock.advance(0.001);
      for (const one of await list(kind, { limit: 1, offset: 100 })) await store.records.put([one], 60);
      return first;
    });

    expect(await listWorkers(store, manager)).toHaveLength(101);
  });

  it('have a bounded size, whatever their workers do', async () => {
    const { store, manager, put } = given();
    const long = 'x'.repeat(10_000);
    const job = { id: long, name: long, queue: long, attempt: 1, since: 0 };
    const names = Array.from({ length: 5000 }, () => long);

    await putWorker(
      store.records,
      report('w', { queues: names, paused: names, busy: 900, running: Array.from({ length: 900 }, () => job) }),
    );

    expect(put.mock.calls[0]![0][0]!.value.length).toBeLessThan(64 * 1024);
    const [worker] = await listWorkers(store, manager);
    expect([worker!.running.length, worker!.busy]).toEqual([50, 900]);
  });

  it.each([['no json'], ['null'], ['{}'], [JSON.stringify(report('w', { running: [null] }))]])(
    'with the value %s are left out',
    async (value) => {
      const { store, manager } = given();
      await store.records.put([{ kind: 'workers', id: 'w', value }], 60);

      expect(await listWorkers(store, manager)).toEqual([]);
    },
  );
});

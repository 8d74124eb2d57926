import { Job } from '../../src/job/job';
import { replaceDefaultManager } from '../../src/application/default-manager';
import { Queue } from '../../src/application/queue';
import type { SnapshotOptions } from '../../src/operations/snapshot';
import { Worker } from '../../src/worker/worker';
import { watchedApplication } from '../support/watched-application';
import { reserveFrom } from '../support/exchange';

@Job()
class Render extends Job {
  async handle(): Promise<void> {
    throw new Error('no film');
  }
}

function given(configuration: object = {}) {
  const app = watchedApplication({
    default: 'main',
    connections: { main: { driver: 'memory', queue: 'usual' }, nowhere: { driver: 'null' } },
    ...configuration,
  });
  replaceDefaultManager(app.manager);
  return { ...app, main: app.manager.connection('main'), driver: app.watched('main') };
}

afterEach(async () => {
  await Queue.close();
});

describe('a snapshot', () => {
  it("counts the jobs of each queue by state, including the connection's own queue if it was never used", async () => {
    const { main, manager, driver, clock } = given();
    await main.bulk([new Render(), new Render(), new Render()], 'films');
    await main.later('1h', new Render(), 'films');
    await reserveFrom(driver, { queues: ['films'], limit: 1, lease: 30 });
    await main.push(new Render(), 'mails');
    await new Worker({ queue: 'mails', stopWhenEmpty: true }, manager).run();
    const until = clock.now() + 600_000;
    await main.pause('mails', { for: '10m' });
    await main.pause('usual');

    const { connection, at, isExact, queues, otherQueues, workers } = await Queue.snapshot();

    expect({ connection, at, isExact, otherQueues, workers }).toEqual({
      connection: 'main',
      at: new Date(clock.now()),
      isExact: true,
      otherQueues: 0,
      workers: [],
    });
    expect(queues).toMatchObject([
      { queue: 'films', ready: 2, delayed: 1, running: 1, failed: 0, isPaused: false, pausedUntil: undefined },
      { queue: 'mails', ready: 0, delayed: 0, running: 0, failed: 1, isPaused: true, pausedUntil: new Date(until) },
      { queue: 'usual', ready: 0, delayed: 0, running: 0, failed: 0, isPaused: true, pausedUntil: undefined },
    ]);
  });

  it('tells how long the oldest ready job has waited, by the clock of the store', async () => {
    const { main, clock } = given();
    await main.push(new Render());
    await clock.advance('90s');

    const [queue] = (await main.snapshot()).queues;

    expect(Math.round(queue!.oldestWait!)).toBe(90);
    expect((await main.snapshot({ queues: ['empty'] })).queues).toMatchObject([{ oldestWait: undefined }]);
  });

  it('counts the wait of a delayed job from when it is due, as without a worker nobody makes it ready', async () => {
    const { main, clock } = given();
    await main.later('1m', new Render());
    const wait = async (): Promise<number | undefined> => (await main.snapshot()).queues[0]!.oldestWait;

    expect(await wait()).toBeUndefined();
    await clock.advance('90s');
    expect(Math.round((await wait())!)).toBe(30);
  });

  it('lists the workers and what they run', async () => {
    const { manager, clock } = given();
    const worker = new Worker({}, manager);
    const working = worker.run();
    await clock.advance('1s');

    expect((await Queue.snapshot()).workers).toMatchObject([{ connection: 'main', busy: 0, state: 'running' }]);

    await worker.stop();
    await working;
  });

  it('shows a queue that was paused before its first job, and makes no further calls for an empty one', async () => {
    const { main, driver } = given();
    await main.pause('ahead');
    const peek = jest.spyOn(driver.queues, 'peek');

    expect((await main.snapshot()).queues).toMatchObject([{ queue: 'ahead', isPaused: true }, { queue: 'usual' }]);
    expect(peek).not.toHaveBeenCalled();
  });

  it('tells the recent rate of ended jobs and the recent failures', async () => {
    const { main, manager, clock } = given();
    await main.bulk([new Render(), new Render()], 'films');
    await new Worker({ queue: 'films', stopWhenEmpty: true }, manager).run();

    const [films, usual] = (await Queue.snapshot()).queues;

    expect([films!.failures, usual!.failures]).toEqual([2, 0]);
    expect(films!.rate).toBeGreaterThan(0.3);
    expect(usual!.rate).toBe(0);
    await clock.advance('6m');
    expect((await Queue.snapshot()).queues).toMatchObject([{ rate: 0, failures: 0 }, {}]);
  });

  it('has no rates without metrics, and does not claim that there are no workers', async () => {
    given({ metrics: false });

    const { queues, workers } = await Queue.snapshot();

    expect(queues).toMatchObject([{ rate: undefined, failures: undefined }]);
    expect(workers).toBeUndefined();
  });

  it('can be limited to named queues, each listed once', async () => {
    const { main } = given();
    await main.push(new Render(), 'films');

    expect((await Queue.snapshot({ queues: ['mails', 'films', 'mails'] })).queues).toMatchObject([
      { queue: 'films', ready: 1 },
      { queue: 'mails', ready: 0 },
    ]);
  });

  it('makes a bounded number of calls, and tells how many queues it left out', async () => {
    const { driver } = given();
    const names = Array.from({ length: 130 }, (_, place) => `q${String(place).padStart(3, '0')}`);
    for (const name of names) await driver.push(name, [{ payload: '{"job":"Mail","data":null,"attempts":0}' }]);
    const spies = (['counts', 'peek', 'names', 'find'] as const).map((method) => jest.spyOn(driver.queues, method));
    const failed = jest.spyOn(driver.failed, 'count');

    const { queues, otherQueues } = await Queue.snapshot();

    expect(queues.map(({ queue }) => queue)).toEqual(names.slice(0, 100));
    expect(otherQueues).toBe(31);
    expect([...spies, failed].map((spy) => spy.mock.calls.length)).toEqual([100, 100, 1, 0, 100]);
  });

  it('has no workers if no connection keeps records', async () => {
    const { main } = given({ operations: 'nowhere' });

    const { workers, queues } = await main.snapshot();

    expect([workers, queues[0]!.rate]).toEqual([undefined, undefined]);
  });

  it('refuses an invalid list of queues and an invalid queue name', async () => {
    given();
    for (const queues of ['mail', 7, null] as unknown as SnapshotOptions['queues'][])
      await expect(Queue.snapshot({ queues })).rejects.toMatchObject({ code: 'E_INVALID_LISTING' });
    await expect(Queue.snapshot({ queues: ['a,b'] })).rejects.toMatchObject({ code: 'E_INVALID_QUEUE_NAME' });
  });
});

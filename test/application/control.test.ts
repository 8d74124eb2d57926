import { Job } from '../../src/job/job';
import { replaceDefaultManager } from '../../src/application/default-manager';
import { Queue } from '../../src/application/queue';
import type { QueueManager } from '../../src/application/queue-manager';
import { Worker } from '../../src/worker/worker';
import { Gate, until } from '../support/application';
import { watchedApplication } from '../support/watched-application';
import { reserveFrom } from '../support/exchange';
import type { Delay } from '../../src/job/duration';
import { readId } from '../../src/payload/counters';

let run: (signal: AbortSignal, job: Export) => Promise<void> = async () => undefined;

@Job({ tries: 3 })
class Export extends Job {
  async handle(): Promise<void> {
    await run(this.signal, this);
  }
}

@Job({ debounce: { by: () => 'all', wait: '30m' } })
class Debounced extends Job {
  handle(): void {}
}

function given() {
  const app = watchedApplication({
    default: 'main',
    connections: { main: { driver: 'memory', queue: 'usual', retryAfter: 30 }, other: { driver: 'memory' } },
  });
  replaceDefaultManager(app.manager);
  return { ...app, main: app.manager.connection('main'), other: app.manager.connection('other') };
}

const reserve = (manager: QueueManager, queue = 'usual') =>
  reserveFrom(manager.driver('main'), { queues: [queue], limit: 1, lease: 30 });

afterEach(async () => {
  await Queue.close();
});

describe('cancelling a job', () => {
  it('removes a waiting job, ready or delayed, and then no longer knows it', async () => {
    const { main } = given();
    const ready = await main.push(new Export());
    const delayed = await main.later('1h', new Export(), 'nights');

    expect(await Queue.cancel(ready)).toBe('removed');
    expect(await Queue.cancel(delayed)).toBe('removed');
    expect(await Queue.cancel(ready)).toBe('unknown');
    expect(await main.size()).toBe(0);
  });

  it('aborts a running job at its next lease renewal, so that it ends as cancelled and does not run again', async () => {
    const { manager, main, clock } = given();
    const started = new Gate();
    let reason: unknown;
    run = (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject((reason = signal.reason)));
        started.open();
      });
    const ended: string[] = [];
    Queue.cancelled(({ job }) => void ended.push(job.id));
    const id = await main.push(new Export());
    const worker = new Worker({}, manager);
    const running = worker.run();
    await started.opened;

    expect(await Queue.cancel(id)).toBe('signalled');
    await clock.advance('10s');
    await until(clock, () => ended.length > 0);

    expect(reason).toMatchObject({ code: 'E_JOB_CANCELLED' });
    expect(ended).toEqual([id]);
    expect(await main.size()).toBe(0);
    expect(await manager.failed.list()).toEqual([]);
    await worker.stop();
    expect(await running).toBe('stopped');
  });

  it('looks only at the named connection and queue', async () => {
    const { other } = given();
    const id = await other.push(new Export(), 'mails');

    expect(await Queue.cancel(id)).toBe('unknown');
    expect(await Queue.cancel(id, { connection: 'other', queue: 'default' })).toBe('unknown');
    expect(await other.cancel(id, { queue: 'mails' })).toBe('removed');
  });

  it.each(['', undefined, 5, Promise.resolve('1')])('refuses %p, which is not an id', async (id) => {
    given();

    await expect(Queue.cancel(id as string)).rejects.toMatchObject({ code: 'E_INVALID_JOB_ID', facts: { id } });
  });

  it.each(['', '  ', 'two\nlines', 'x'.repeat(256), '\uD800', null, 5])('refuses the reason %p', async (reason) => {
    given();

    await expect(Queue.cancel('1', { reason: reason as string })).rejects.toMatchObject({
      code: 'E_INVALID_CANCEL_REASON',
      facts: { reason },
    });
  });

  it('rejects an invalid queue and an unknown connection', async () => {
    given();

    await expect(Queue.cancel('1', { queue: 'a,b' })).rejects.toMatchObject({ code: 'E_INVALID_QUEUE_NAME' });
    await expect(Queue.cancel('1', { connection: 'mian' })).rejects.toMatchObject({ code: 'E_UNKNOWN_CONNECTION' });
  });
});

describe('moving a delayed job', () => {
  it('lets it run at its new moment, or now', async () => {
    const { manager, main, clock } = given();
    const later = await main.later('1h', new Export());
    const sooner = await main.later('1d', new Export(), 'nights');
    const now = await main.later('1d', new Export());

    expect(await Queue.reschedule(later, '2h')).toBe('rescheduled');
    expect(await Queue.reschedule(sooner, new Date(clock.now() + 60_000), { queue: 'nights' })).toBe('rescheduled');
    expect(await Queue.promote(now)).toBe('ready');
    expect(await Queue.promote(now)).toBe('ready');

    const taken = async (queue: string) =>
      (await reserve(manager, queue)).reservations.map(({ payload }) => readId(payload));
    expect([await taken('usual'), await taken('usual'), await taken('nights')]).toEqual([[now], [], []]);
    expect([await Queue.promote(now), await Queue.reschedule(now, '1h')]).toEqual(['running', 'running']);
    await clock.advance('61m');
    expect(await taken('nights')).toEqual([sooner]);
    await clock.advance('1h');
    // The lease of the other one has ended.
    expect([await taken('usual'), await taken('usual')]).toEqual([[now], [later]]);
  });

  it('runs a job at once that waits for its next attempt, in that attempt', async () => {
    const { manager, main, clock } = given();
    const attempts: number[] = [];
    run = async (_signal, job) => {
      attempts.push(job.job.attempts);
      if (attempts.length === 1) job.job.release('1d');
    };
    const id = await main.push(new Export());
    const worker = new Worker({}, manager);
    const running = worker.run();
    await until(clock, () => attempts.length === 1);
    while ((await main.counts()).delayed === 0) await clock.advance(1);

    expect(await Queue.promote(id)).toBe('ready');
    await until(clock, () => attempts.length === 2);

    expect(attempts).toEqual([1, 2]);
    await worker.stop();
    await running;
  });

  it('looks only at the named connection and queue', async () => {
    const { other } = given();
    const id = await other.later('1h', new Export(), 'mails');

    expect([await Queue.promote(id), await Queue.reschedule(id, '2h')]).toEqual(['unknown', 'unknown']);
    expect(await Queue.promote(id, { connection: 'other', queue: 'default' })).toBe('unknown');
    expect(await other.promote(id, { queue: 'mails' })).toBe('ready');
  });

  it.each([['2 hours'], [-1], [new Date(NaN)], [undefined]])('refuses the delay %p', async (delay) => {
    given();

    await expect(Queue.reschedule('1', delay as Delay)).rejects.toMatchObject({ code: 'E_INVALID_DURATION' });
  });

  it.each(['', undefined, Promise.resolve('1')])('refuses %p, which is not an id', async (id) => {
    given();

    await expect(Queue.promote(id as string)).rejects.toMatchObject({ code: 'E_INVALID_JOB_ID' });
    await expect(Queue.reschedule(id as string, 1)).rejects.toMatchObject({ code: 'E_INVALID_JOB_ID' });
  });

  it('moves a debounced job only to now', async () => {
    const { main } = given();
    const id = await main.push(new Debounced());

    await expect(Queue.reschedule(id, '1h')).rejects.toMatchObject({ code: 'E_DEBOUNCED', facts: { id } });
    expect(await Queue.promote(id)).toBe('ready');
  });

  it.each([
    ['sync', (manager: QueueManager) => manager.connection('sync').promote('1')],
    ['sync', (manager: QueueManager) => manager.connection('sync').reschedule('1', '2h')],
  ])('is refused by %s, which names the drivers that can do so', async (_driver, ask) => {
    await expect(ask(given().manager)).rejects.toMatchObject({
      code: 'E_CAPABILITY',
      facts: { capability: 'reschedule', drivers: ['redis', 'database', 'memory'] },
    });
  });
});

describe('limiting a queue', () => {
  it('lets all workers together run no more of its jobs than that', async () => {
    const { manager, main, clock } = given();
    let [running, most, ended] = [0, 0, 0];
    run = async () => {
      most = Math.max(most, (running += 1));
      await Promise.resolve();
      running -= 1;
      ended += 1;
    };
    for (let at = 0; at < 20; at += 1) await main.push(new Export());
    await Queue.limit('usual', { running: 3 });
    expect(await Queue.limits()).toEqual([{ queue: 'usual', running: 3 }]);
    const workers = [new Worker({ concurrency: 5 }, manager), new Worker({ concurrency: 5 }, manager)];
    const runs = workers.map((worker) => worker.run());
    await until(clock, () => ended === 20);

    expect(most).toBeLessThanOrEqual(3);
    for (const worker of workers) await worker.stop();
    await Promise.all(runs);
    await Queue.limit('usual', undefined);
    expect(await Queue.limits()).toEqual([]);
  });

  it('is shown by a snapshot, also of a queue without jobs', async () => {
    given();
    await Queue.limit('reports', { running: 5 });

    const { queues } = await Queue.snapshot();

    expect(queues.map(({ queue, limit }) => [queue, limit])).toEqual([
      ['reports', 5],
      ['usual', undefined],
    ]);
  });

  it.each([[{ running: 0 }], [{ running: -1 }], [{ running: 1.5 }], [{ running: '5' }], [{}], [null], [5]])(
    'refuses the limit %j, and says how to stop a queue',
    async (limit) => {
      given();

      await expect(Queue.limit('usual', limit as { running: number })).rejects.toMatchObject({
        code: 'E_INVALID_LIMIT',
        message: expect.stringContaining('pause the queue'),
        facts: { queue: 'usual', limit },
      });
      expect(await Queue.limits()).toEqual([]);
    },
  );

  it('is refused for an invalid queue, and by a store that keeps no limits', async () => {
    const { manager } = given();

    await expect(Queue.limit('a,b', { running: 1 })).rejects.toMatchObject({ code: 'E_INVALID_QUEUE_NAME' });
    const refusal = { code: 'E_CAPABILITY', facts: { capability: 'limits', drivers: ['redis', 'database', 'memory'] } };
    await expect(manager.connection('sync').limit('usual', { running: 1 })).rejects.toMatchObject(refusal);
    await expect(manager.connection('sync').limits()).rejects.toMatchObject(refusal);
  });
});

describe('pausing a queue', () => {
  it('keeps its jobs from workers until it is resumed, and tells whether anything changed', async () => {
    const { manager, main } = given();
    await main.push(new Export());

    expect([await Queue.pause(), await Queue.pause('usual')]).toEqual([true, false]);
    expect(await reserve(manager)).toMatchObject({ reservations: [], paused: ['usual'] });
    expect([await Queue.resume(), await Queue.resume()]).toEqual([true, false]);
    expect((await reserve(manager)).reservations).toHaveLength(1);
  });

  it('concerns only one connection, whose paused queues can be listed', async () => {
    const { main, other } = given();
    await main.pause('b');
    await main.pause('a');

    expect(await Queue.pausedQueues()).toEqual(['a', 'b']);
    expect(await other.pausedQueues()).toEqual([]);
  });

  it('ends by itself after the given time', async () => {
    const { manager, main, clock } = given();
    await main.push(new Export());
    const until = new Date(clock.now() + 600_000);

    expect(await Queue.pause('usual', { for: '10m' })).toBe(true);
    expect(await Queue.pauses()).toEqual([{ queue: 'usual', until }]);
    expect(await reserve(manager)).toMatchObject({ reservations: [], nextIn: 600 });
    expect(await Queue.isPaused('usual')).toBe(true);
    await clock.advance('10m');

    expect([await Queue.isPaused('usual'), await Queue.pauses()]).toEqual([false, []]);
    expect((await reserve(manager)).reservations).toHaveLength(1);
  });

  it('lets a waiting worker continue when it ends', async () => {
    const { manager, main, clock } = given();
    const started = new Gate();
    run = async () => started.open();
    await main.pause('usual', { for: '1h' });
    await main.push(new Export());
    const worker = new Worker({}, manager);
    const running = worker.run();
    await until(clock, () => worker.health().paused.length > 0);

    await clock.advance('59m');
    expect(await main.size()).toBe(1);
    await clock.advance('2m');
    await started.opened;

    await worker.stop();
    expect(await running).toBe('stopped');
  });

  it('can pause and resume all used queues of a connection at once', async () => {
    const { main, other, clock } = given();
    await main.push(new Export(), 'mails');
    await main.pause('empty', { for: '1d' });

    expect(await Queue.pauseAll({ for: '1h' })).toEqual(['mails', 'usual']);
    expect(await Queue.pausedQueues()).toEqual(['empty', 'mails', 'usual']);
    expect(await other.pausedQueues()).toEqual([]);
    expect(await Queue.resumeAll()).toEqual(['empty', 'mails', 'usual']);
    expect([await Queue.resumeAll(), await Queue.pauseAll()]).toEqual([[], ['mails', 'usual']]);
    await clock.advance('1d');
    expect(await Queue.pausedQueues()).toEqual(['mails', 'usual']);
  });

  it.each([[0], ['soon'], [-1], [{}]])('refuses the duration %j, and pauses nothing', async (time) => {
    given();

    await expect(Queue.pause('usual', { for: time as number })).rejects.toMatchObject({ code: 'E_INVALID_DURATION' });
    await expect(Queue.pauseAll({ for: time as number })).rejects.toMatchObject({ code: 'E_INVALID_DURATION' });
    expect(await Queue.pausedQueues()).toEqual([]);
  });

  it('takes one queue at a time', async () => {
    given();

    await expect(Queue.pause('high,low')).rejects.toThrow(
      "'high,low' is not a valid queue name: name one queue at a time",
    );
    await expect(Queue.resume('')).rejects.toMatchObject({ code: 'E_INVALID_QUEUE_NAME' });
  });
});

describe('restarting', () => {
  it('ends the workers of the connection once their jobs are done, and no others', async () => {
    const { manager, main, clock } = given();
    const gate = new Gate();
    const started = new Gate();
    run = () => (started.open(), gate.opened);
    await main.push(new Export());
    const worker = new Worker({ concurrency: 2 }, manager);
    const bystander = new Worker({ connection: 'other' }, manager);
    const [reason, bystanding] = [worker.run(), bystander.run()];
    await started.opened;
    await until(clock, () => worker.health().ready && bystander.health().ready);

    await Queue.restart();
    gate.open();
    await clock.advance('2s');

    expect(await reason).toBe('restart');
    expect(bystander.health().state).toBe('running');
    await bystander.stop();
    expect(await bystanding).toBe('stopped');
  });
});

describe('a driver without support for workers', () => {
  it.each([
    ['cancel', (manager: QueueManager) => manager.connection('sync').cancel('1')],
    ['pause', (manager: QueueManager) => manager.connection('sync').pause()],
    ['resume', (manager: QueueManager) => manager.connection('sync').resume()],
    ['pauseAll', (manager: QueueManager) => manager.connection('sync').pauseAll()],
    ['resumeAll', (manager: QueueManager) => manager.connection('sync').resumeAll()],
    ['pauses', (manager: QueueManager) => manager.connection('sync').pauses()],
    ['pausedQueues', (manager: QueueManager) => manager.connection('sync').pausedQueues()],
    ['restart', (manager: QueueManager) => manager.connection('sync').restart()],
  ])('refuses %s and names the drivers that support it', async (_name, ask) => {
    const { manager } = given();

    await expect(ask(manager)).rejects.toMatchObject({
      code: 'E_CAPABILITY',
      facts: { capability: 'control', drivers: ['redis', 'database', 'memory'] },
    });
  });
});

import { JobCounters } from '../../src/operations/figures/job-counters';
import type { FigureOptions } from '../../src/operations/figures/figures';
import type { Duration } from '../../src/job/duration';
import { Job } from '../../src/job/job';
import { QueueUnavailableError } from '../../src/connections/errors';
import { Worker } from '../../src/worker/worker';
import { elapse, testApplication, type TestApplication, until } from '../support/application';

let application: TestApplication;

@Job({ queue: 'mail', tries: 2 })
class CountedMail extends Job {
  constructor(readonly how: 'fine' | 'fails' | 'released') {
    super();
  }
  handle(): void {
    if (this.how === 'fails') this.fail('no such address');
    if (this.how === 'released' && this.attempts === 1) this.release();
  }
}

beforeEach(() => {
  application = testApplication();
});

afterEach(() => application.manager.close());

async function work(): Promise<void> {
  await new Worker({ queue: 'mail', stopWhenEmpty: true }, application.manager).run();
}

const figures = () => application.manager.connection().figures();

describe('the figures of jobs', () => {
  it('count how the runs of each job ended', async () => {
    const { bus } = application;
    await bus.bulk(['fine', 'fine', 'fails', 'released'].map((how) => new CountedMail(how as 'fine')));

    await work();

    const { jobs, queues } = await figures();
    const counted = { completed: 3, failed: 1, released: 1, cancelled: 0, lost: 0 };
    expect(jobs).toEqual([expect.objectContaining({ queue: 'mail', job: 'CountedMail', ...counted })]);
    expect(queues).toEqual([expect.objectContaining({ queue: 'mail', ...counted })]);
    expect(jobs[0]!.run).toMatchObject({ count: 5 });
  });

  it('appear while the worker runs, ten seconds late', async () => {
    const worker = new Worker({ queue: 'mail' }, application.manager);
    const running = worker.run();
    await application.bus.dispatch(new CountedMail('fine'));
    await until(application.clock, () => worker.health().outcomes.completed === 1);
    expect((await figures()).jobs).toEqual([]);

    await elapse(application.clock, 11);

    expect((await figures()).jobs).toMatchObject([{ completed: 1 }]);
    await worker.stop();
    await running;
  });

  it('count all jobs with undeclared names together', () => {
    const counters = new JobCounters(application.manager.registry);
    for (const name of ['CountedMail', 'Robert"); DROP', '__proto__', 'constructor'])
      counters.dispatching({ id: '1', name, connectionName: 'memory', queue: 'mail' })!.end!();
    expect(counters.all.map(({ job, counts }) => [job, counts])).toEqual([
      ['CountedMail', { d: 1 }],
      ['(unknown)', { d: 3 }],
    ]);
  });

  it('count everything beyond a hundred classes together', () => {
    const counters = new JobCounters(application.manager.registry);
    for (let queue = 0; queue < 150; queue += 1)
      counters.dispatching({ id: '1', name: 'CountedMail', connectionName: 'memory', queue: `q${queue}` })!.end!();
    expect(counters.all).toHaveLength(101);
    expect(counters.all.at(-1)).toMatchObject({ queue: '(other)', job: '(other)', counts: { d: 50 } });
  });

  it('add up the counts of several workers', async () => {
    await application.bus.dispatch(new CountedMail('fine'));
    await work();
    await application.bus.dispatch(new CountedMail('fine'));
    await work();
    expect((await figures()).jobs).toMatchObject([{ completed: 2 }]);
  });

  it('are split on request: by minute, for a day by quarter of an hour, beyond that by three hours', async () => {
    await application.bus.dispatch(new CountedMail('fine'));
    await work();
    await application.clock.advance('4m');
    await application.bus.bulk([new CountedMail('fine'), new CountedMail('fails')]);
    await work();

    const spansOf = async (within: Duration) => {
      const { queues } = await application.manager.connection().figures({ within, spans: true });
      return queues[0]!.spans!;
    };

    const minutes = await spansOf('10m');
    expect(minutes.map(({ completed, failed }) => completed + failed)).toEqual([0, 0, 0, 0, 0, 1, 0, 0, 0, 2]);
    expect(minutes.map(({ at }) => at.getTime() - minutes[0]!.at.getTime())).toEqual(
      minutes.map((_, place) => place * 60_000),
    );
    expect([(await spansOf('24h')).length, (await spansOf('25h')).length, (await spansOf('7d')).length]).toEqual([
      96, 9, 56,
    ]);
    for (const within of ['24h', '7d'] as const) {
      const spans = await spansOf(within);
      expect(spans.reduce((sum, { completed }) => sum + completed, 0)).toBe(2);
    }
    expect((await figures()).queues[0]!.spans).toBeUndefined();
  });

  it('are stored in calls that change at most 100 sums', async () => {
    const records = application.manager.driver().records!;
    const add = jest.spyOn(records, 'add');
    const queues = Array.from({ length: 25 }, (_, number) => `queue-${number}`);
    for (const how of ['fine', 'fails', 'released'] as const) {
      for (const queue of queues) await application.bus.dispatch(new CountedMail(how)).onQueue(queue);
      await elapse(application.clock, 10);
    }
    await new Worker({ queue: queues.join(','), stopWhenEmpty: true }, application.manager).run();

    const sizes = add.mock.calls.map(([sums]) =>
      sums
        .filter(({ name }) => !name.startsWith('figures/classes/'))
        .reduce((sum, { amounts }) => sum + Object.keys(amounts).length, 0),
    );
    expect(Math.max(...sizes)).toBeGreaterThan(60);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(100);
    const { queues: counted } = await figures();
    expect(counted.map(({ completed, failed }) => [completed, failed])).toEqual(queues.map(() => [2, 1]));
  });

  it('are stored once even if the answer to the first call was lost', async () => {
    const records = application.manager.driver().records!;
    const add = records.add.bind(records);
    const lost = new Error('the answer was lost');
    jest.spyOn(records, 'add').mockImplementationOnce(async (...given) => {
      await add(...given);
      throw Object.assign(new (jest.requireActual('../../src/connections/errors').QueueUnavailableError)({}), {
        cause: lost,
      });
    });
    const worker = new Worker({ queue: 'mail' }, application.manager);
    const running = worker.run();
    await application.bus.dispatch(new CountedMail('fine'));
    await elapse(application.clock, 25);
    expect((await figures()).jobs).toMatchObject([{ completed: 1 }]);
    expect(application.log.messages('warn')).toEqual([expect.stringContaining('could not be counted')]);
    await worker.stop();
    await running;
  });

  it('are not mentioned in the log of an outage, which is logged once', async () => {
    const driver = application.manager.driver();
    const facts = { store: 'Memory', address: 'memory', connection: 'memory', consequence: 'nothing was done' };
    const away = new QueueUnavailableError(facts);
    const worker = new Worker({ queue: 'mail' }, application.manager);
    const running = worker.run();
    await application.bus.dispatch(new CountedMail('fine'));
    await elapse(application.clock, 1);
    jest.spyOn(driver, 'exchange').mockRejectedValue(away);
    const add = jest.spyOn(driver.records!, 'add').mockRejectedValue(away);
    await elapse(application.clock, 25);
    await worker.stop();
    await running;

    expect(add).toHaveBeenCalled();
    expect(application.log.messages('error')).toHaveLength(1);
    expect(application.log.messages('warn')).toEqual([]);
  });

  it('are not kept if the configuration turns them off', async () => {
    await application.manager.close();
    application = testApplication({ metrics: false });
    await application.bus.dispatch(new CountedMail('fine'));
    await work();
    expect((await figures()).jobs).toEqual([]);
    expect(application.manager.counters.all).toEqual([]);
  });

  it.each([['0s'], ['31d']] as const)('are refused over a span of %s', async (within) => {
    await expect(application.manager.connection().figures({ within })).rejects.toMatchObject({
      code: 'E_INVALID_SPAN',
    });
  });

  it('can be limited to the jobs of one name, and to a time that has passed', async () => {
    await application.bus.dispatch(new CountedMail('fine'));
    await work();
    await application.clock.advance('3h');
    const of = (options: FigureOptions) => application.manager.connection().figures(options);
    const until = new Date(application.clock.now() - 2 * 3_600_000);

    expect((await of({ within: '1h' })).total).toMatchObject({ completed: 0 });
    expect((await of({ within: '2h', until })).total).toMatchObject({ completed: 1 });
    expect((await of({ within: '2h', until, job: 'CountedMail' })).total).toMatchObject({ completed: 1 });
    expect((await of({ within: '2h', until, job: 'Another' })).total).toMatchObject({ completed: 0 });
    await expect(of({ until: new Date(Number.NaN) })).rejects.toMatchObject({ code: 'E_INVALID_SPAN' });
    const longAgo = new Date(until.getTime() - 40 * 86_400_000);
    await expect(of({ until: longAgo })).rejects.toMatchObject({ code: 'E_INVALID_SPAN' });
  });

  it('can be limited to one queue', async () => {
    await application.bus.dispatch(new CountedMail('fine'));
    await work();
    const { jobs } = await application.manager.connection().figures({ queue: 'other' });
    expect(jobs).toEqual([]);
  });
});

import { Job, Queue, Worker } from 'onqueue';
import { type FakeQueue, TestClock } from 'onqueue/testing';

const ran: string[] = [];

@Job({ schedule: { cron: '0 9 * * 1-5', timezone: 'Europe/Amsterdam' }, queue: 'reports' })
class MorningReport extends Job {
  handle(): void {
    ran.push(this.job.occurrence!.at.toISOString());
  }
}

@Job()
class Prune extends Job {
  constructor(readonly age: string) {
    super();
  }
  handle(): void {}
}

Queue.schedule(() => new Prune('30d'))
  .daily()
  .at('03:00')
  .name('prune');

let queue: FakeQueue;

beforeEach(() => {
  ran.length = 0;
  // A Friday, in winter.
  queue = Queue.fake({ clock: new TestClock(new Date('2027-01-08T07:30:00Z')) });
});

afterEach(() => queue.restore());

describe('a fake', () => {
  test('sends the jobs of schedules as its clock passes their times', async () => {
    await queue.travelTo(new Date('2027-01-11T12:00:00Z'));

    queue.assertPushedTimes(MorningReport, 2);
    queue.assertPushedOn('reports', MorningReport);
    queue.assertPushedTimes(Prune, 3);
    queue.assertPushed(Prune, ({ age }, { payload }) => {
      const { schedule, at } = payload['occurrence'] as { schedule: string; at: number };
      return age === '30d' && schedule === 'prune' && at * 1000 === Date.UTC(2027, 0, 9, 3);
    });
    expect(queue.clock.now()).toBe(Date.UTC(2027, 0, 11, 12));
  });

  test('runs them when it is drained, and gives them the moment at which they were due', async () => {
    await queue.advance('31m');
    const { completed } = await queue.drain();

    expect(completed.map(({ name }) => name)).toEqual(['MorningReport']);
    expect(ran).toEqual(['2027-01-08T08:00:00.000Z']);
  });

  test('sends no jobs of a paused schedule, and makes up for none when it is resumed', async () => {
    expect(await Queue.schedules.pause('prune')).toBe(true);
    await queue.advance('1d');
    queue.assertNotPushed(Prune);

    expect(await Queue.schedules.resume('prune')).toBe(true);
    await queue.advance('1d');
    queue.assertPushedTimes(Prune, 1);
  });

  test('also passes schedules when a drain moves the clock for delayed jobs', async () => {
    await Prune.dispatch('1d').delay('2d');
    const { completed } = await queue.drain({ delayed: true });

    queue.assertPushedTimes(Prune, 1);
    expect(completed).toHaveLength(1);
  });

  test('gives each occurrence its own id, which is the same in each test run', async () => {
    const idsOf = (fake: FakeQueue): string[] => fake.pushed(MorningReport).map(({ id }) => id);
    await queue.travelTo(new Date('2027-01-12T12:00:00Z'));
    const first = idsOf(queue);
    queue.restore();
    queue = Queue.fake({ clock: new TestClock(new Date('2027-01-08T06:00:00Z')) });
    await queue.travelTo(new Date('2027-01-12T12:00:00Z'));

    expect(new Set(first).size).toBe(3);
    expect(idsOf(queue)).toEqual(first);
    expect(first[0]).toMatch(/^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/);
    expect(Number.parseInt(first[0]!.slice(0, 13).replace('-', ''), 16)).toBe(Date.UTC(2027, 0, 8, 8));
  });

  test('does not go back in time', async () => {
    const problem = { code: 'E_INVALID_JOB_OPTION', message: expect.stringContaining('2027-01-08T07:30:00.000Z') };
    await expect(queue.travelTo(new Date('2027-01-07T00:00:00Z'))).rejects.toMatchObject(problem);
    await expect(queue.travelTo('tomorrow' as never)).rejects.toMatchObject(problem);
  });
});

describe('a fake of some jobs', () => {
  test.each([
    ['those it names', { only: [MorningReport] }, ['MorningReport']],
    ['all but those it excepts', { except: [MorningReport] }, ['Prune']],
    ['none, if it is told so', { schedules: false }, []],
  ])(
    'drives the schedules of %s, and puts no job of the others into the real store',
    async (_whose, options, names) => {
      queue.restore();
      Queue.configure({ connections: { main: { driver: 'memory' } } });
      queue = Queue.fake({ clock: new TestClock(new Date('2027-01-11T02:59:50Z')), ...options });
      const worker = new Worker({ queue: 'nobody' });
      const running = worker.run();

      await queue.advance('20s');
      await worker.stop();
      await running;
      await queue.travelTo(new Date('2027-01-11T12:00:00Z'));
      expect(queue.pushes.map(({ name }) => name)).toEqual(names);

      queue.restore();
      expect([await Queue.size('default'), await Queue.size('reports')]).toEqual([0, 0]);
      await Queue.close();
    },
  );
});

describe('Queue.schedules', () => {
  test('lists the declared schedules with their next and last occurrences', async () => {
    await Queue.schedules.pause('prune');
    const [report, prune] = await Queue.schedules.list();

    expect(report).toMatchObject({
      name: 'MorningReport',
      next: new Date('2027-01-08T08:00:00Z'),
      declared: { cadence: '0 9 * * 1-5 (Europe/Amsterdam)', timezone: 'Europe/Amsterdam', job: 'MorningReport' },
      isKept: false,
      isOrphan: false,
      problem: undefined,
    });
    expect(prune).toMatchObject({ name: 'prune', next: undefined, pausedAt: new Date(queue.clock.now()), skipped: 0 });
    expect(prune!.declared!.origin).toMatch(/^Queue\.schedule\(\) in test\/schedule\/fake\.test\.ts:\d+:\d+$/);
  });

  test('runs a schedule by hand, even a paused one', async () => {
    await Queue.schedules.pause('prune');
    const id = await Queue.schedules.run('prune');

    const [pushed] = queue.pushed(Prune);
    expect(pushed).toMatchObject({ id, delay: 0 });
    expect(pushed!.payload['occurrence']).toEqual({ schedule: 'prune', at: queue.clock.now() / 1000 });
  });

  test('lists coming occurrences and marks days of clock changes', async () => {
    const from = new Date('2027-03-26T12:00:00Z');
    expect(await Queue.schedules.occurrences('MorningReport', { from, count: 2 })).toEqual([
      { at: new Date('2027-03-29T07:00:00Z'), wall: '2027-03-29 09:00', isClockChange: false },
      { at: new Date('2027-03-30T07:00:00Z'), wall: '2027-03-30 09:00', isClockChange: false },
    ]);
    expect(await Queue.schedules.occurrences('prune')).toHaveLength(5);
  });

  test('names the known schedules if an unknown one is asked for', async () => {
    const problem = {
      code: 'E_UNKNOWN_SCHEDULE',
      facts: { name: 'purne' },
      message: expect.stringContaining("'prune'"),
    };
    await expect(Queue.schedules.run('purne')).rejects.toMatchObject(problem);
    await expect(Queue.schedules.pause('purne')).rejects.toMatchObject(problem);
    await expect(Queue.schedules.occurrences('purne')).rejects.toMatchObject(problem);
    await expect(Queue.schedules.occurrences('prune', { count: 0 })).rejects.toMatchObject({
      code: 'E_INVALID_SCHEDULE',
    });
  });
});

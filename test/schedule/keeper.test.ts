/** Processes that keep schedules send what is due: once, on time, whatever happens to the others. */
import '../../src/composition';
import type { QueueManager } from '../../src/application/queue-manager';
import { MemoryConnection } from '../../src/connections/memory/connection';
import { Job } from '../../src/job/job';
import { Worker } from '../../src/worker/worker';
import { elapse, testApplication, until } from '../support/application';
import { Fleet, Prune, prune, ran } from './fleet';

const MINUTE = 60_000;
beforeEach(() => void (ran.length = 0));

@Job({ tries: 2, backoff: '150s' })
class Fails extends Job {
  handle(): void {
    ran.push(['fails', this.job.occurrence!.schedule, this.attempts]);
    throw new Error('it broke');
  }
}

@Job({ unique: { until: 'start' } })
class Once extends Job {
  handle(): void {}
}

let fleet: Fleet;
beforeEach(() => {
  fleet = new Fleet();
});

afterEach(() => fleet.end());

const keep = (manager: QueueManager): (() => Promise<void>) => fleet.keep(manager);

const each5Minutes = prune((one) => one.cron('*/5 * * * *'));

describe('a worker', () => {
  test('sends the job of a schedule at its times and runs it', async () => {
    const { manager, clock } = testApplication();
    manager
      .schedule(() => new Prune('30d'))
      .every('30s')
      .name('prune');
    const worker = new Worker({}, manager);
    const run = worker.run();
    const begun = clock.now();
    await elapse(clock, 65);
    await until(clock, () => ran.length >= 2);
    const first = Math.ceil((begun + 1) / 30_000) * 30_000;
    expect(ran.slice(0, 2)).toEqual([
      ['30d', 'prune', first],
      ['30d', 'prune', first + 30_000],
    ]);
    await worker.stop();
    await run;
    await manager.close();
  });

  test('does not keep schedules if told so', async () => {
    const { manager, clock } = testApplication();
    manager.schedule(() => new Prune('30d')).every('5s');
    const worker = new Worker({ schedule: false }, manager);
    const run = worker.run();
    await elapse(clock, 30);
    expect(ran).toEqual([]);
    await worker.stop();
    await run;
    await manager.close();
  });

  test('keeps schedules together with the other workers of its process, until the last one stops', async () => {
    const manager = fleet.process(each5Minutes);
    const [first, second] = [keep(manager), keep(manager)];
    await first();
    await first();
    await elapse(fleet.clock, 301);
    expect(await fleet.sent()).toEqual(['12:05:00']);
    await second();
    await elapse(fleet.clock, 301);
    expect(await fleet.sent()).toEqual(['12:05:00']);
  });
});

describe('processes that keep a schedule', () => {
  test('send each occurrence once, however many they are, and none early', async () => {
    for (let process = 0; process < 5; process += 1)
      keep(
        fleet.process(each5Minutes, (manager) =>
          manager
            .schedule(() => new Prune('1d'))
            .name('ahead')
            .cron('*/5 * * * *')
            .overlap('allow')
            .onQueue('ahead'),
        ),
      );
    await elapse(fleet.clock, 290);
    expect([await fleet.sent(), await fleet.sent('ahead')]).toEqual([[], ['12:05:00']]);
    const ahead = new MemoryConnection('main', fleet.store);
    expect((await ahead.queues.peek('ahead', 'delayed', 1))[0]!.at).toBe(Date.UTC(2027, 0, 1, 12, 5));
    await elapse(fleet.clock, 11);
    expect([await fleet.sent(), await fleet.sent('ahead')]).toEqual([['12:05:00'], ['12:05:00']]);
  });

  test('do not send an occurrence again if only the answer was lost', async () => {
    keep(fleet.process(prune((one) => one.cron('* * * * *').overlap('allow'))));
    let lost = 0;
    fleet.fault = async (call, carryOut) => {
      const answer = await carryOut();
      if (call !== 'pushOnce' || lost > 2) return answer;
      lost += 1;
      throw new Error('the answer was lost');
    };
    await elapse(fleet.clock, 125);
    expect(await fleet.sent()).toEqual(['12:01:00', '12:02:00']);
    expect(lost).toBe(3);
  });

  test('fire nothing that was due before the schedule was first seen', async () => {
    await fleet.clock.advance('20m');
    keep(fleet.process(prune((one) => one.hourlyAt(0))));
    await elapse(fleet.clock, 20);
    expect(await fleet.sent()).toEqual([]);
  });

  test('make up for the newest missed occurrence within the last hour', async () => {
    const end = keep(fleet.process(each5Minutes));
    await elapse(fleet.clock, 1);
    await end();
    await fleet.clock.advance('22m');
    keep(fleet.process(each5Minutes));
    await elapse(fleet.clock, 1);
    expect(await fleet.sent()).toEqual(['12:20:00']);
  });

  test.each([
    ['the newest missed occurrence, which is less than a minute ago,', 'skip', '20m', ['12:20:00']],
    ['none that is more than a minute ago', 'skip', '22m', []],
    ['all missed occurrences', 'all', '22m', ['12:05:00', '12:10:00', '12:15:00', '12:20:00']],
    ['none that is more than an hour ago', 'latest', '64m', ['13:00:00']],
  ] as const)('make up for %s if missed is %s', async (_what, policy, away, sent) => {
    const declare = prune((one) => one.cron('*/5 * * * *').missed(policy));
    const end = keep(fleet.process(declare));
    await elapse(fleet.clock, 1);
    await end();
    await fleet.clock.advance(away);
    keep(fleet.process(declare));
    await elapse(fleet.clock, 1);
    expect(await fleet.sent()).toEqual(sent);
  });

  test('make up for nothing beyond their look-back', async () => {
    const declare = prune((one) => one.daily().at('12:10').missed('latest', '10m'));
    const end = keep(fleet.process(declare));
    await elapse(fleet.clock, 1);
    await end();
    await fleet.clock.advance('21m');
    keep(fleet.process(declare));
    await elapse(fleet.clock, 20);
    expect(await fleet.sent()).toEqual([]);
  });

  test('make up for a hundred occurrences at most', async () => {
    const declare = prune((one) => one.every('30s').missed('all'));
    const end = keep(fleet.process(declare));
    await elapse(fleet.clock, 1);
    await end();
    await fleet.clock.advance('2h');
    keep(fleet.process(declare));
    await elapse(fleet.clock, 1);
    const sent = await fleet.sent();
    expect(sent).toHaveLength(100);
    expect(sent.at(-1)).toBe('14:00:00');
  });

  test('send nothing while it is paused, and make up for nothing when it is resumed', async () => {
    const manager = fleet.process(each5Minutes);
    keep(manager);
    await elapse(fleet.clock, 1);
    expect(await manager.schedules.pause('prune')).toBe(true);
    expect(await manager.schedules.pause('prune')).toBe(false);
    await elapse(fleet.clock, 601);
    expect(await fleet.sent()).toEqual([]);
    expect(await manager.schedules.resume('prune')).toBe(true);
    expect(await manager.schedules.resume('prune')).toBe(false);
    await elapse(fleet.clock, 300);
    expect(await fleet.sent()).toEqual(['12:15:00']);
  });
});

describe('an occurrence', () => {
  test('is skipped and counted while the previous job waits, runs or is to be retried', async () => {
    const manager = fleet.process((of) =>
      of
        .schedule(() => new Fails())
        .name('fails')
        .everyMinute(),
    );
    const worker = new Worker({}, manager);
    const run = worker.run();
    await elapse(fleet.clock, 61);
    await until(fleet.clock, () => ran.length === 1);
    // The retry runs half a minute after 12:03 and fails for good.
    await elapse(fleet.clock, 155);
    await until(fleet.clock, () => ran.length === 2);
    await elapse(fleet.clock, 30);
    await until(fleet.clock, () => ran.length === 3);
    expect(ran.map(([, , attempt]) => attempt)).toEqual([1, 2, 1]);
    const [listed] = (await manager.schedules.list()).filter(({ name }) => name === 'fails');
    expect(listed).toMatchObject({ skipped: 2, isKept: true, last: new Date(Date.UTC(2027, 0, 1, 12, 4)) });
    await worker.stop();
    await run;
  });

  test('is sent even if the previous job is unfinished, if overlaps are allowed', async () => {
    keep(fleet.process(prune((one) => one.everyMinute().overlap('allow'))));
    await elapse(fleet.clock, 125);
    expect(await fleet.sent()).toEqual(['12:01:00', '12:02:00']);
  });

  test('keeps the unique key that its job has anyway', async () => {
    keep(
      fleet.process((of) =>
        of
          .schedule(() => new Once())
          .everyMinute()
          .overlap('allow'),
      ),
    );
    await elapse(fleet.clock, 125);
    expect(await fleet.sent()).toEqual(['12:01:00']);
  });
});

describe('a store', () => {
  test('that is away is logged now and then, and missed occurrences are made up for', async () => {
    keep(fleet.process(each5Minutes));
    await elapse(fleet.clock, 1);
    fleet.fault = () => Promise.reject(new Error('the store is away'));
    await elapse(fleet.clock, 420);
    const told = fleet.log.messages('error');
    expect(told.length).toBeLessThanOrEqual(4);
    expect(told[0]).toContain('the store is away');
    fleet.fault = (_call, carryOut) => carryOut();
    await elapse(fleet.clock, 15);
    expect(await fleet.sent()).toEqual(['12:05:00']);
  });

  test('that does not answer delays nothing for good', async () => {
    keep(fleet.process(each5Minutes));
    await elapse(fleet.clock, 1);
    fleet.fault = () => new Promise(() => undefined);
    await elapse(fleet.clock, 60);
    fleet.fault = (_call, carryOut) => carryOut();
    await elapse(fleet.clock, 300);
    expect(await fleet.sent()).toEqual(['12:05:00']);
  });

  test('is called well below once a second for ten schedules', async () => {
    const manager = fleet.process();
    for (let place = 0; place < 10; place += 1)
      manager
        .schedule(() => new Prune('1d'))
        .hourlyAt(place * 5)
        .name(`prune ${place}`);
    keep(manager);
    await elapse(fleet.clock, 20);
    const before = fleet.calls.length;
    await elapse(fleet.clock, 600);
    // `now` mostly answers from memory.
    const asked = fleet.calls.slice(before).filter((call) => call !== 'now');
    expect(asked.length).toBeLessThan(600 * 0.5);
  });

  test('is not called at all without schedules', async () => {
    keep(fleet.process());
    await elapse(fleet.clock, 60);
    expect(fleet.calls).toEqual([]);
  });

  test('that runs no jobs is refused for one schedule with a log line, and the others are kept', async () => {
    const manager = fleet.process(
      (of) =>
        of
          .schedule(() => new Prune('1d'))
          .everyMinute()
          .onConnection('sync')
          .name('nowhere'),
      prune((one) => one.everyMinute()),
    );
    keep(manager);
    await elapse(fleet.clock, 61);
    expect(fleet.log.messages('error')).toEqual([expect.stringContaining("keeping the schedule 'nowhere'")]);
    expect(await fleet.sent()).toEqual(['12:01:00']);
    const [nowhere, kept] = (await manager.schedules.list()).filter(
      ({ name }) => name === 'nowhere' || name === 'prune',
    );
    expect(nowhere).toMatchObject({ problem: { code: 'E_CAPABILITY' }, isKept: false, isOrphan: false });
    expect(kept).toMatchObject({ problem: undefined, isKept: true });
  });
});

test('an unreadable state is replaced', async () => {
  const { records } = new MemoryConnection('main', fleet.store);
  await records.put([{ kind: 'schedule', id: 'prune', value: 'no state' }], 3600);
  keep(fleet.process(prune((one) => one.everyMinute())));
  await elapse(fleet.clock, 61);
  expect(await fleet.sent()).toEqual(['12:01:00']);
});

test('a schedule that is no longer declared is listed as an orphan for a week', async () => {
  const end = keep(fleet.process(each5Minutes));
  await elapse(fleet.clock, 1);
  await end();
  const other = fleet.process();
  const orphans = async (): Promise<unknown> => (await other.schedules.list()).filter(({ isOrphan }) => isOrphan);
  expect(await orphans()).toMatchObject([{ name: 'prune', declared: undefined, next: undefined, isKept: false }]);
  await expect(other.schedules.run('prune')).rejects.toMatchObject({ code: 'E_UNKNOWN_SCHEDULE' });
  await fleet.clock.advance('7d');
  expect(await orphans()).toEqual([]);
});

test('the id of a scheduled job contains its due time, and is the same for every process', async () => {
  keep(fleet.process(prune((one) => one.everyMinute())));
  await elapse(fleet.clock, 61);
  const [job] = await new MemoryConnection('main', fleet.store).queues.peek('default', 'ready', 1);
  const { id, occurrence } = JSON.parse(job!.payload.toString()) as { id: string; occurrence: object };
  expect(occurrence).toEqual({ schedule: 'prune', at: Date.UTC(2027, 0, 1, 12, 1) / 1000 });
  expect(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toBe(Date.UTC(2027, 0, 1, 12, 0) + MINUTE);
});

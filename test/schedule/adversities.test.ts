/** Trouble for schedules: odd names, wrong clocks, long absences. */
import '../../src/composition';
import type { QueueManager } from '../../src/application/queue-manager';
import { Job } from '../../src/job/job';
import type { PendingSchedule } from '../../src/schedule/schedule';
import { elapse } from '../support/application';
import { Fleet } from './fleet';

const HOUR = 3_600_000;

@Job()
class Sweep extends Job {
  handle(): void {}
}

const named =
  (name: string, declare: (schedule: PendingSchedule) => PendingSchedule) =>
  (manager: QueueManager): PendingSchedule =>
    declare(manager.schedule(() => new Sweep()).name(name));

let fleet: Fleet;
const ends: (() => Promise<void>)[] = [];

beforeEach(() => {
  fleet = new Fleet();
});

afterEach(async () => {
  await Promise.all(ends.splice(0).map((end) => end()));
});

function keep(manager: QueueManager): () => Promise<void> {
  const end = manager.schedules.keep();
  ends.push(end);
  return end;
}

test.each(['constructor', '__proto__', '💩'.repeat(100), String.raw`o'r "x" %s \ {a}:b*`, '../..'])(
  'a schedule named %j works whatever other processes keep',
  async (name) => {
    keep(fleet.process(named(name, (one) => one.cron('*/5 * * * *'))));
    await elapse(fleet.clock, 20);
    keep(fleet.process(named('another', (one) => one.daily())));
    await elapse(fleet.clock, 290);
    expect(await fleet.sent()).toEqual(['12:05:00']);
    const listed = await fleet.process().schedules.list();
    expect(listed.find((one) => one.name === name)).toMatchObject({ isKept: true, isOrphan: false });
  },
);

test.each(['', 'null', '[]', '{"since":1}', '{"since":1,"schedules":null}', '{"since":"1","schedules":{"sweep":"x"}}'])(
  'an invalid process record %j does not keep schedules from being sent',
  async (value) => {
    fleet.store.records.set({ kind: 'schedulekeeper', id: 'somebody', value }, 3600);
    keep(fleet.process(named('sweep', (one) => one.cron('*/5 * * * *'))));
    await elapse(fleet.clock, 310);
    expect(await fleet.sent()).toEqual(['12:05:00']);
  },
);

test.each(['skip', 'allow'] as const)(
  'a store whose clock was a day ahead delays nothing once it is right again, with overlap %s',
  async (overlap) => {
    const manager = fleet.process(named('sweep', (one) => one.cron('*/5 * * * *').overlap(overlap)));
    const now = fleet.clock.now.bind(fleet.clock);
    fleet.clock.now = () => now() + 24 * HOUR;
    const end = keep(manager);
    await elapse(fleet.clock, 310);
    fleet.clock.now = now;
    await end();
    const before = await fleet.sent();
    expect(before).toEqual(['12:05:00']);
    fleet.store.clear('default');
    keep(fleet.process(named('sweep', (one) => one.cron('*/5 * * * *').overlap(overlap))));
    await elapse(fleet.clock, 300);
    expect(await fleet.sent()).toEqual(['12:10:00']);
  },
);

test('occurrences missed while no worker ran are made up for over the given span of a week', async () => {
  const daily = named('sweep', (one) => one.daily().missed('all', '7d'));
  const end = keep(fleet.process(daily));
  await elapse(fleet.clock, 20);
  await end();
  await fleet.clock.advance('7d');
  keep(fleet.process(daily));
  await elapse(fleet.clock, 1);
  expect(await fleet.sent()).toHaveLength(7);
});

test('a schedule stays paused while no worker runs for a month', async () => {
  const often = named('sweep', (one) => one.cron('*/5 * * * *'));
  const manager = fleet.process(often);
  const end = keep(manager);
  await elapse(fleet.clock, 1);
  await manager.schedules.pause('sweep');
  await end();
  await fleet.clock.advance('30d');
  keep(fleet.process(often));
  await elapse(fleet.clock, 310);
  expect(await fleet.sent()).toEqual([]);
});

test('a call that is never answered for one schedule does not delay the others', async () => {
  const late: number[] = [];
  const hanging: (() => void)[] = [];
  fleet.fault = (call, carryOut, given) => {
    if (call !== 'pushOnce') return carryOut();
    const [{ queue, entries }] = given as [{ queue: string; entries: readonly [{ dueAt: number }] }];
    if (queue === 'away') return new Promise((_, reject) => void hanging.push(() => reject(new Error('away'))));
    late.push(fleet.clock.now() - entries[0].dueAt);
    return carryOut();
  };
  keep(
    fleet.process(
      named('hangs', (one) => one.everyMinute().onQueue('away')),
      named('sweep', (one) => one.every('5s')),
    ),
  );
  await elapse(fleet.clock, 121);
  expect(late).toHaveLength(24);
  expect(Math.max(...late)).toBeLessThan(2000);
  expect(hanging.length).toBeGreaterThan(1);
  for (const end of hanging) end();
});

test('a slow call does not delay the next occurrences', async () => {
  const late: number[] = [];
  fleet.fault = async (call, carryOut, given) => {
    if (call !== 'pushOnce') return carryOut();
    const [{ entries }] = given as [{ entries: readonly [{ dueAt: number }] }];
    late.push(fleet.clock.now() - entries[0].dueAt);
    await new Promise((resolve) => void fleet.clock.after(900, () => resolve(undefined)));
    return carryOut();
  };
  keep(fleet.process(named('sweep', (one) => one.every('1s'))));
  await elapse(fleet.clock, 30);
  expect(late.length).toBeGreaterThanOrEqual(29);
});

test('a skipped occurrence is counted even if another process writes at the same time', async () => {
  const manager = fleet.process(named('sweep', (one) => one.everyMinute()));
  keep(manager);
  await elapse(fleet.clock, 90);
  const { records } = fleet.store;
  let isFirst = true;
  fleet.fault = (call, carryOut, given) => {
    if (call === 'replace' && isFirst) {
      isFirst = false;
      const [{ kind, id }, expected] = given as [{ kind: string; id: string }, string];
      records.set({ kind, id, value: JSON.stringify({ ...JSON.parse(expected), seenAt: 1 }) }, 3600);
    }
    return carryOut();
  };
  await elapse(fleet.clock, 60);
  fleet.fault = (_call, carryOut) => carryOut();
  const listed = await manager.schedules.list();
  expect(listed.find(({ name }) => name === 'sweep')).toMatchObject({ skipped: 1 });
});

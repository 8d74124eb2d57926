/** What befalls schedules from outside: odd names, clocks that were wrong, long absences. */
import '../../src/composition';
import type { QueueManager } from '../../src/application/queue-manager';
import { Job } from '../../src/job/job';
import type { PendingSchedule } from '../../src/schedule/pending-schedule';
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
  'a schedule may be called %j, whatever other processes keep',
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

test.each(['skip', 'allow'] as const)(
  'a store whose clock was a day ahead holds up nothing when it is right again: overlap %s',
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

test('what came up while no worker ran is made up for as far back as is said: a week', async () => {
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
